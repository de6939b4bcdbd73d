import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Clock, HubError, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, createRecordingLog, startHub, until } from '#helpers/hub';
import { readMessage } from '#jsonrpc';
import { createRequestIds } from '../../hub/routing/request-ids.ts';
import { openClient } from './clients.ts';
import { openModern } from './modern.ts';

/** Returns the recorded calls, oldest first, without the `initialize` of each client. */
const seen = (hub: TestHub) =>
  hub.activity
    .list({}, 100)
    .filter(({ method }) => method !== 'initialize')
    .toReversed();

const briefly = (hub: TestHub) =>
  seen(hub).map(({ method, name, server, outcome }) => [method, name, server, outcome]);

describe('a request that was answered is told of once', () => {
  test('with who asked, what, of whom, and how much of its time the server had', async () => {
    // Each reading advances the clock by 0.01 ms, so that later events have later times. The test adds all other time.
    let passedMs = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => 1_750_000_000_000 + (passedMs += 0.01),
      monotonic: () => (passedMs += 0.01),
    };
    await using hub = await startHub([{ name: 'echo' }], { clock });
    const client = openClient(hub);
    const before = clock.now();
    const answered = client.call('echo_slow', { ms: 1_000 });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    passedMs += 30;
    await answered;
    const [call, ...others] = seen(hub);
    assert.deepEqual(others, []);
    assert.ok(call);
    const { method, name, server, client: who, outcome, tookMs, serverMs } = call;
    assert.deepEqual(
      { method, name, server, who, outcome },
      { method: 'tools/call', name: 'echo_slow', server: 'echo', who: 'test 1', outcome: 'ok' },
    );
    assert.ok(serverMs >= 29 && tookMs > serverMs, `${serverMs} of ${tookMs} ms`);
    assert.ok(tookMs - serverMs < 20, `${tookMs - serverMs} ms of the hub`);
    assert.ok(call.at >= before - 1 && call.at + tookMs <= clock.now() + 1, `at ${call.at}`);
  });

  test('without a server if the hub answered it', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    await client.ask('tools/list');
    await client.ask('ping');
    await client.call('nothing_like_it');
    assert.deepEqual(briefly(hub), [
      ['tools/list', undefined, undefined, 'ok'],
      ['ping', undefined, undefined, 'ok'],
      ['tools/call', 'nothing_like_it', undefined, 'HUB_NAME_UNKNOWN'],
    ]);
    assert.ok(seen(hub).every(({ serverMs }) => serverMs === 0));
  });

  test('with its outcome: a failed tool, an error of the server, a timeout, a full queue', async () => {
    await using hub = await startHub([
      { name: 'calendar' },
      { name: 'echo', callTimeoutMs: 100, maxConcurrentCalls: 1, maxQueuedCalls: 0 },
    ]);
    const client = openClient(hub);
    await client.call('calendar_cancel_event', { title: 'tea' });
    await client.ask('completion/complete', {
      ref: { type: 'ref/resource', uri: 'echo://{name}' },
      argument: { name: 'name', value: '' },
    });
    await client.ask('prompts/get', { name: 'echo_greet', arguments: { missing: '1' } });
    const late = client.call('echo_slow', { ms: 60_000 });
    await client.call('echo_echo', { text: 'too much' });
    await late;
    const told = briefly(hub).filter(([method]) => method === 'tools/call');
    assert.deepEqual(told, [
      ['tools/call', 'calendar_cancel_event', 'calendar', 'tool_error'],
      ['tools/call', 'echo_echo', 'echo', 'HUB_SERVER_BUSY'],
      ['tools/call', 'echo_slow', 'echo', 'HUB_CALL_TIMEOUT'],
    ]);
    const timedOut = seen(hub).at(-1);
    assert.ok(timedOut && timedOut.serverMs >= 99, 'the server had it all the time');
  });

  test('as an error if the server refused it', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub, hub.server('echo'));
    await client.call('no-such-tool');
    assert.deepEqual(briefly(hub), [['tools/call', 'no-such-tool', 'echo', 'error']]);
    assert.ok((seen(hub)[0]?.serverMs ?? 0) > 0);
  });

  test('even if its client cancelled it, or disconnected', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    const server = hub.server('echo');
    const first = client.ask('tools/call', { name: 'echo_slow', arguments: { ms: 60_000 } }, 'one');
    await until(() => server.running?.upstream.inFlight() === 1);
    await client.notify('notifications/cancelled', { requestId: 'one' });
    await first;
    const second = client.call('echo_slow', { ms: 60_000 });
    await until(() => server.running?.upstream.inFlight() === 1);
    client.session.close('the client left');
    await second;
    assert.deepEqual(
      briefly(hub),
      [1, 2].map(() => ['tools/call', 'echo_slow', 'echo', 'HUB_CALL_CANCELLED']),
    );
  });

  test('even if it was refused before it was parsed', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openModern(hub, 'all');
    await client.ask(
      'tools/call',
      { name: 'echo_echo' },
      { 'io.modelcontextprotocol/protocolVersion': '1999-01-01' },
    );
    assert.deepEqual(briefly(hub), [
      ['tools/call', 'echo_echo', undefined, 'HUB_VERSION_UNSUPPORTED'],
    ]);
  });

  test('but not if it only listens', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openModern(hub, 'all');
    const over = client.ask('subscriptions/listen', { notifications: { toolsListChanged: true } });
    await until(() => client.told.length > 0);
    hub.router.close();
    await over;
    await client.call('echo_echo', { text: 'hi' });
    assert.deepEqual(briefly(hub), [['tools/call', 'echo_echo', 'echo', 'ok']]);
  });
});

describe('between clients and servers of two eras', () => {
  const sample = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
  const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };

  test('each request of a call with several rounds is observed, with the waiting times', async () => {
    const clock = createManualClock({ passingMs: 10 });
    await using hub = await startHub([{ name: 'asker' }], { clock });
    const clientInfo = { name: 'modern', version: '2.1' };
    const client = openModern(hub, hub.server('asker'), undefined, clientInfo);
    const { result } = await client.call('ask', sample);
    clock.advance(60_000);
    await client.call('ask', sample, {
      requestState: result['requestState'],
      inputResponses: { 1: sampled },
    });
    await client.call('needs-pages', { elicitations: [] });
    assert.deepEqual(briefly(hub), [
      ['tools/call', 'ask', 'asker', 'ok'],
      ['tools/call', 'ask', 'asker', 'ok'],
      ['tools/call', 'needs-pages', 'asker', 'error'],
    ]);
    assert.ok(seen(hub).every(({ client: who }) => who === 'modern 2.1'));
    const times = seen(hub).map(({ serverMs, tookMs }) => [serverMs, tookMs]);
    assert.deepEqual(
      times,
      times.map(() => [0, 0]),
      'what its client took to answer is time of neither',
    );
  });

  test('the time that a server with sessions works on a call of a stateless client is counted', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    await openModern(hub, hub.server('echo')).call('slow', { ms: 30 });
    const [call] = seen(hub);
    assert.ok(call && call.serverMs >= 29 && call.tookMs > call.serverMs, `${call?.serverMs} ms`);
  });

  test('the time of a server of 2026 is the sum of all its rounds', async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ name: 'stateless' }], { clock });
    const server = hub.server('stateless');
    const client = openClient(hub, server);
    await client.initialize();
    clock.advance(1_000);
    const before = clock.waiting;
    const result = client.call('busy', { times: 1 });
    await until(() => clock.waiting > before && server.running?.upstream.inFlight() === 0);
    clock.advance(100);
    await result;
    const calls = seen(hub);
    assert.deepEqual(briefly(hub), [['tools/call', 'busy', 'stateless', 'ok']]);
    assert.deepEqual([calls[0]?.tookMs, calls[0]?.serverMs], [100, 0], 'the pause is the hub’s');
  });
});

const read = readMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'));
const request = read.kind === 'request' ? read : assert.fail('a request');

function createScene() {
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  let last = 0;
  const ids = createRequestIds({ log, clock, newId: () => `id-${++last}` });
  return { ids, logged, clock };
}

test.for(['silent', 'die'])('the id of an error is also in its log line: %s', async tool => {
  await using hub = await startHub([{ name: 'leaky', callTimeoutMs: 200 }]);
  const { error } = await openClient(hub).call(`leaky_${tool}`);
  const lines = hub.logged.filter(
    ({ fields }) => 'request' in fields && fields.request === error.data['id'],
  );
  assert.equal(lines.length, 1);
  assert.partialDeepStrictEqual(lines[0]?.fields, {
    method: 'tools/call',
    server: 'leaky',
    code: error.data['code'],
    error: error.message,
  });
});

test('a bug is reported by its id alone, and logged in full', () => {
  const { ids, logged } = createScene();
  const told = ids.bug(new TypeError('within'), request);
  assert.deepEqual([told.code, told.data], ['HUB_INTERNAL', { id: 'id-1' }]);
  assert.doesNotMatch(told.message, /within/);
  assert.match(JSON.stringify(logged[0]?.fields), /"request":"id-1".*TypeError: within/);
});

test.for(['HUB_NAME_UNKNOWN', 'HUB_BREAKER_OPEN', 'HUB_SERVER_BUSY'] as const)(
  '%s needs no log line',
  code => {
    const { ids, logged } = createScene();
    const error = new HubError(code, 'no');
    assert.equal(ids.failed(error, request, undefined), error);
    assert.deepEqual(logged, []);
  },
);

test('fifty errors a second have an id and a log line, and the next second has its own fifty', () => {
  const { ids, logged, clock } = createScene();
  const error = new HubError('HUB_SERVER_DOWN', 'gone', { data: { server: 'files' } });
  const fail = () => ids.failed(error, request, undefined);
  for (let count = 0; count < 50; count++) fail();
  assert.equal(fail(), error);
  assert.equal(logged.length, 50);
  clock.advance(1_000);
  assert.deepEqual(fail().data, { server: 'files', id: 'id-51' });
});
