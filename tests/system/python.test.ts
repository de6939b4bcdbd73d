import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { connectEra } from '#helpers/eras';
import { type TestHub, startHub, until } from '#helpers/hub';
import { jsonOf, pythonWithSdk } from '#helpers/python';
import { openModern } from '../routing/modern.ts';

const fixtures = join(import.meta.dirname, '../fixtures/python');
const found = await pythonWithSdk();
const python = 'python' in found ? found.python : '';
if ('missing' in found)
  process.stderr.write(`Skipped in tests/system/python.test.ts, as ${found.missing}\n`);

const modes = ['legacy', '2026-07-28'] as const;
const misfits = (era: string) => ({ name: era, file: 'misfits.mjs', env: { ERA: era } });
/** A server of the Python SDK, which Python runs instead of Node. */
const server = (name: string, era: 'legacy' | 'modern') => ({
  name,
  command: python,
  file: '../python/server.py',
  env: { ERA: era },
  era,
});

describe.skipIf('missing' in found)('the official Python SDK', () => {
  let hub: TestHub;
  /** Data that the Python clients received, by mode. */
  let given: Awaited<ReturnType<typeof jsonOf>>;
  const givenTo = (mode: string) => {
    const found = given[mode];
    return isObject(found) ? found : assert.fail(mode);
  };
  beforeAll(async () => {
    hub = await startHub([
      misfits('legacy'),
      misfits('modern'),
      server('py2026', 'modern'),
      { ...server('py2025', 'legacy'), inputTimeoutMs: 1_000 },
    ]);
    const urls = [`${hub.url}/mcp`, `${hub.url}/mcp/legacy`];
    const tools = ['py2026_numbers', 'py2025_announce_same', 'wait'];
    given = await jsonOf(python, [join(fixtures, 'client.py'), modes.join(), ...urls, ...tools]);
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  test.for(modes)('as a client, %s, is listed what its revision takes on /mcp', mode => {
    const ofEach = (member: string, names: readonly string[]) =>
      ['legacy', 'modern'].flatMap(name => names.map(one => `${name}${member}${one}`));
    const required = mode === 'legacy' ? [] : ['null_required'];
    assert.deepEqual(givenTo(mode)['lists'], {
      tools: [
        ...ofEach('_', ['first', ...required, 'last']),
        'py2026_numbers',
        'py2025_announce_same',
        'py2025_ask',
      ],
      resources: ['hub://servers', 'test://first', 'test://last', ...copies('first', 'last')],
      templates: ['test://first/{id}', ...copies('first/{id}')],
      prompts: ofEach('_', ['first', 'last']),
    });
  });

  test.for(modes)('as a client, %s, is given no list of misfits on /mcp/{server}', mode => {
    const refused = 'ValidationError';
    assert.deepEqual(givenTo(mode)['other'], {
      tools: refused,
      resources: refused,
      templates: ['test://first/{id}', 'test://null-type/{id}'],
      prompts: refused,
    });
  });

  test('as a server of 2026, has results that clients of both eras understand', async () => {
    const numbersAt = (mode: string) => {
      const called = givenTo(mode)['called'];
      return isObject(called) ? called['py2026_numbers'] : undefined;
    };
    const wrapped = { result: [1, 2, 3] };
    assert.deepEqual(numbersAt('legacy'), { texts: ['[1,2,3]'], structured: wrapped });
    assert.deepEqual(numbersAt('2026-07-28'), { texts: [], structured: [1, 2, 3] });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/py2026`)));
    await client.listTools();
    const { structuredContent } = await client.callTool({ name: 'numbers' });
    assert.deepEqual(structuredContent, wrapped);
    await client.close();
  });

  test.for(modes)('as a client, %s, is told of a list_changed of a list that is the same', mode => {
    const called = givenTo(mode)['called'];
    assert.ok(isObject(called) && called['wait'] === true);
  });

  test('as a server, is free to ask others once a client did not come back', async () => {
    const asking = hub.server('py2025');
    const { result } = await openModern(hub, asking).call('ask');
    assert.equal(result['resultType'], 'input_required');
    await using client = await connectEra('2025', `${hub.url}/mcp/py2025`);
    assert.match(await client.call('ask').catch(String), /several clients/);
    await until(() => asking.running?.upstream.onlyCaller() === 'none');
    assert.equal(await client.call('ask'), 'accept');
  });

  test('as a server of both eras, asks clients of 2025 from their own instance, and is named its era where it is shared', async () => {
    const server = { command: python, file: '../python/server.py' } as const;
    await using hub = await startHub([
      { ...server, name: 'own', instance: 'session' },
      { ...server, name: 'shared' },
    ]);
    await using own = await connectEra('2025', `${hub.url}/mcp/own`);
    assert.equal(await own.call('ask'), 'accept');
    await using shared = await connectEra('2025', `${hub.url}/mcp/shared`);
    assert.match(await shared.call('ask').catch(String), /no back-channel/);
    assert.match(hub.server('shared').advice.join(), /"era": "legacy"/);
  });

  test('as one client of 2026, is asked about each of its calls at once', async () => {
    await using hub = await startHub([{ name: 'fixture', file: '../eras/server-2025.mjs' }]);
    const client = join(fixtures, 'parallel.py');
    const { texts } = await jsonOf(python, [client, `${hub.url}/mcp`, 'fixture_ask_person', '4']);
    assert.deepEqual(
      texts,
      Array.from({ length: 4 }, () => 'the person: accept {"name":"Ada"}'),
    );
  });
});

/** If two servers have the same URI, the name of the second server is put in front of its URI. */
const copies = (...names: readonly string[]) => names.map(name => `modern+test://${name}`);
