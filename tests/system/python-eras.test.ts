import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { connectEra } from '#helpers/eras';
import { startHub } from '#helpers/hub';
import { jsonOf, pythonWithSdk } from '#helpers/python';

const found = await pythonWithSdk();
const python = 'python' in found ? found.python : '';
if ('missing' in found)
  process.stderr.write(`Skipped in tests/system/python-eras.test.ts, as ${found.missing}\n`);

describe.skipIf('missing' in found)('the official Python SDK', () => {
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
    const client = join(import.meta.dirname, '../fixtures/python/parallel.py');
    const { texts } = await jsonOf(python, [client, `${hub.url}/mcp`, 'fixture_ask_person', '4']);
    assert.deepEqual(
      texts,
      Array.from({ length: 4 }, () => 'the person: accept {"name":"Ada"}'),
    );
  });
});
