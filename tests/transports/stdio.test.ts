import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import type { Observer } from '#routing';
import { type RawClient, talk } from '../contracts/client-transport.ts';
import { createTestAccess } from '../routing/test-access.ts';
import { openOnStdio } from './raw-clients.ts';

const echo = [{ name: 'echo' }];
const params = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {} },
  clientInfo: { name: 'piped', version: '1' },
};
const call = (id: string | number, name: string, given: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
});

async function join(client: RawClient) {
  const talking = talk(client);
  await talking.ask('open', 'initialize', params);
  return talking;
}

describe('a client on stdin and stdout', () => {
  test('cannot reach a denied tool by any form of its messages', async () => {
    const policy = [{ tools: ['echo_echo'], action: 'deny' } as const];
    const { access } = createTestAccess(echo, { policy });
    const outcomes: string[] = [];
    await using hub = await startHub(echo, {
      access,
      observer: ({ request, outcome }) =>
        void (outcome === 'ok' && outcomes.push(request.toString())),
    });
    const client = await openOnStdio(hub, undefined, 'lines');
    const { input } = client.streams;
    assert.ok(input instanceof PassThrough);
    const talking = await join(client);
    const given = '"params":{"name":"echo_echo","arguments":{"text":"REACHED"}}';
    const written = (id: string, method = '"method":"tools/call"') =>
      `{"jsonrpc":"2.0","id":${id},${method},${given}}`;
    const lines = [
      ...['1', '"1"', 'null', '1.5', '1e400', '{}', '[]', '-0', '123456789012345678901'].map(id =>
        written(id),
      ),
      `[${written('20')}]`,
      `[${written('21')},${written('22')}]`,
      `${written('23')}${written('24')}`,
      `\ufeff${written('25')}`,
      `\r${written('26')}\r`,
      written('27', '"method":"ping","method":"tools/call"'),
      written('28', '"method":"tools\\/call"'),
      written('29', '"m\\u0065thod":"tools/call"'),
      written('30', '"PARAMS":{},"method":"tools/call"'),
      written('31').replace('"name":', '"name":"echo_slow","name":'),
      written('32').replace('echo_echo', 'echo_ech\\u006f'),
      written('33').replace('"id":33,', ''),
      written('34').replace('"jsonrpc":"2.0",', ''),
      Buffer.from(written('35').replace('REACHED', '\xff'), 'latin1'),
      '\0',
      '',
      '['.repeat(5_000),
    ];
    for (const line of lines) input.write(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
    await talking.ask('last', 'ping');
    await until(() => hub.router.inFlight === 0);
    assert.doesNotMatch(JSON.stringify(client.received), /"text":"REACHED"/);
    assert.deepEqual(
      outcomes.filter(request => request.includes('REACHED')),
      [],
    );
    client.close();
  });

  test('that has closed its input still gets responses, for a while', async () => {
    await using hub = await startHub(echo);
    const patient = await openOnStdio(hub, 'echo', 'lines', 10_000);
    const client = await join(patient);
    client.send(call(1, 'slow', { ms: 200 }));
    client.close();
    assert.equal(await patient.over, 'the client closed its end');
    assert.match(JSON.stringify(client.received), /slept 200 ms/);

    const hasty = await openOnStdio(hub, 'echo', 'lines', 50);
    (await join(hasty)).send(call(1, 'slow', { ms: 60_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    hasty.close();
    await hasty.over;
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
  });

  test('is the principal of its messages, and may not administer', async () => {
    const principals: Principal[] = [];
    const observer: Observer = ({ principal }) => void principals.push(principal);
    await using hub = await startHub(echo, { observer });
    const opened = await openOnStdio(hub, 'echo', 'lines');
    await join(opened);
    opened.close();
    await opened.over;
    assert.deepEqual(principals, [{ kind: 'local', name: 'stdio', grants: { administer: false } }]);
  });

  test('that stops reading is disconnected at once', async () => {
    await using hub = await startHub(echo);
    const opened = await openOnStdio(hub, 'echo', 'lines', 60_000);
    (await join(opened)).send(call(1, 'slow', { ms: 60_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    opened.streams.output.destroy(new Error('EPIPE'));
    assert.equal(await opened.over, 'the client no longer reads');
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
    assert.equal(hub.router.sessionCount, 0);
  });

  test('that leaves too many bytes unread is dropped', async () => {
    await using hub = await startHub(echo, { connections: { maxUnsentBytes: 1024 * 1024 } });
    const opened = await openOnStdio(hub, 'echo', 'lines', 60_000);
    await join(opened);
    const { output } = opened.streams;
    assert.ok(output instanceof PassThrough);
    output.pause();
    for (let id = 1; id <= 20; id++) opened.send(call(id, 'bytes', { n: 1024 * 1024 }));
    assert.match(await opened.over, /^the client does not read: \d+ bytes wait for it$/);
    assert.equal(hub.connections.size, 0);
  });

  test('gets an error at once for a response that was too long, and the waiting server continues', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const opened = await openOnStdio(hub, 'asker', 'headers');
    const client = await join(opened);
    const method = 'sampling/createMessage';
    const asking = client.call(1, 'ask', { method, params: { messages: [], maxTokens: 1 } });
    const { id } = await client.told(method);
    const long = 'x'.repeat(65 * 1024 * 1024);
    client.send(`{"jsonrpc":"2.0","id":${String(id)},"result":{"model":"${long}"}}`);
    assert.match(JSON.stringify(await asking), /is more than the hub takes/);
    client.close();
    await opened.over;
  });

  test('whose headers are invalid gets an error, and is disconnected', async () => {
    await using hub = await startHub([]);
    const opened = await openOnStdio(hub, undefined, 'headers');
    const client = await join(opened);
    opened.streams.input.push('Content-Length: many\r\n\r\n{}');
    await opened.over;
    assert.match(
      JSON.stringify(await client.answer(null)),
      /-32700.*a header without a Content-Length: nothing after it can be read/,
    );
    assert.equal(hub.router.sessionCount, 0);
  });

  test('gets its responses when the hub stops, and nothing more', async () => {
    await using hub = await startHub(echo);
    const opened = await openOnStdio(hub, 'echo', 'lines');
    const client = await join(opened);
    client.send(call(1, 'slow', { ms: 60_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    await hub.connections.drain(10);
    assert.equal(await opened.over, 'the hub is stopping');
    assert.match(JSON.stringify(await client.answer(1)), /HUB_CALL_CANCELLED/);
  });
});
