import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { encodeCall, membersOf, readMessage } from '#jsonrpc';
import type { About } from '#upstream';
import { createRequestStates } from '../../../hub/routing/bridge/request-state.ts';
import type {
  SuspendedCall,
  SuspendedCallOptions,
} from '../../../hub/routing/bridge/suspended-call-types.ts';
import { createSuspendedCall } from '../../../hub/routing/bridge/suspended-call.ts';
import { callTo } from '../../../hub/routing/call.ts';
import { cancelCall } from '../../../hub/routing/session.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { callWith, modernMeta, readRequest } from '../steps/scripted-call.ts';

const params = { name: 'ask', arguments: {} };
const gatherMs = 10;

type Options = Partial<SuspendedCallOptions> & {
  /** Makes the hub refuse to keep the call while its client is away. */
  readonly isFull?: boolean;
  readonly fixture?: { readonly inputTimeoutMs?: number; readonly instance?: 'session' };
};

/** Creates a call of a client of 2026-07-28 at a server with sessions, whose requests the test sends with `ask`. */
function scene({ isFull = false, fixture = {}, ...options }: Options = {}) {
  const clock = createManualClock();
  const states = createRequestStates(Buffer.alloc(32), { clock });
  const there = createScriptedServer({ name: 'own', ...fixture });
  const streamed: string[] = [];
  const open: SuspendedCall[] = [];
  const waiting = new Set<SuspendedCall>();
  const responseStream = { send: (bytes: Buffer) => void streamed.push(bytes.toString()) };
  const request = (more: object = {}) =>
    callWith('tools/call', { ...params, ...more, _meta: modernMeta() }, { responseStream });
  const opening = request();

  function begin() {
    const call = createSuspendedCall(
      {
        id: `call-${open.length + 1}`,
        client: 'ada',
        capabilities: { sampling: {}, roots: {} },
        logLevel: undefined,
        mayAsk: true,
        visits: 0,
        ...options,
      },
      callTo(there.server, open.length === 0 ? opening : request()),
      there.server,
      there.running,
      {
        clock,
        states,
        suspend(suspended) {
          if (isFull) throw new HubError('HUB_INPUTS_FULL', 'full');
          waiting.add(suspended);
        },
        forget: suspended => void waiting.delete(suspended),
        over: suspended => void open.splice(open.indexOf(suspended), 1),
        callsWith: () => open,
        hasOpenRequest: one => one.hasOpenRequest,
      },
    );
    open.push(call);
    // The test that waits for the call sees its failure.
    call.first.catch(() => undefined);
    return call;
  }

  const first = begin();
  const at = (index: number) => there.calls[index] ?? assert.fail(`no call ${index}`);
  const answers: { [id: string]: unknown } = {};

  /** Sends a request of the server to the client, related to the call at `index` if that is given. */
  function ask(id: number, method: string, index?: number, given: object = {}): void {
    const about: About | undefined = index === undefined ? undefined : at(index).caller;
    at(index ?? 0).caller.owner.serverRequest(
      {
        request: readRequest(encodeCall(id, method, given).toString()),
        about,
        connection: there.running.upstream,
        source: there.server,
        tell() {},
        answer(bytes) {
          const { result, error } = JSON.parse(bytes.toString());
          answers[id] = error ? error.data.code : result;
        },
      },
      responseStream,
    );
  }

  const read = async (reply: SuspendedCall['first']) => JSON.parse((await reply).bytes.toString());

  /** Sends the call again with the client's answers. */
  function resume(round: number, inputResponses: object, call = first) {
    const next = request({ inputResponses });
    const span = next.params.get('inputResponses');
    return read(call.resume(next, round, membersOf(next.request.bytes, span) ?? new Map()));
  }

  return {
    ...there,
    clock,
    opening,
    first,
    begin,
    at,
    answers,
    ask,
    read,
    resume,
    streamed,
    waiting,
  };
}

const done = { result: { content: [] } };
const complete = { resultType: 'complete', content: [] };

describe('a request of the server to the client', () => {
  test('is sent with those that follow at once, and waits for its answer', async () => {
    const one = scene();
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs - 1);
    one.ask(2, 'sampling/createMessage', 0, { maxTokens: 1 });
    one.clock.advance(1);
    const { result } = await one.read(one.first.first);
    assert.deepEqual(result.inputRequests, {
      1: { method: 'roots/list', params: {} },
      2: { method: 'sampling/createMessage', params: { maxTokens: 1 } },
    });
    assert.equal(one.first.isAway, true);
    const resumed = one.resume(1, { 1: { roots: [] }, 2: { a: 1 }, 3: 'not asked' });
    assert.deepEqual(one.answers, { 1: { roots: [] }, 2: { a: 1 } });
    one.at(0).answer(done);
    assert.deepEqual((await resumed).result, complete);
    assert.equal(one.waiting.size, 0);
    assert.equal(one.clock.waiting, 0, 'no timer is left');
  });

  test('that arrives while the client is disconnected is sent when it is back', async () => {
    const one = scene();
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs);
    await one.read(one.first.first);
    one.ask(2, 'sampling/createMessage', 0);
    one.clock.advance(gatherMs);
    const { result } = await one.resume(1, { 1: { roots: [] } });
    assert.deepEqual(Object.keys(result.inputRequests), ['2']);
    assert.deepEqual(one.answers, { 1: { roots: [] } });
  });

  test('is sent again if the client answers with something else than an object', async () => {
    const one = scene();
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs);
    await one.read(one.first.first);
    const { result } = await one.resume(1, { 1: 'yes' });
    assert.deepEqual(result.inputRequests, { 1: { method: 'roots/list', params: {} } });
    assert.deepEqual(one.answers, {});
  });

  test('is refused if too many calls wait already, and the call continues', async () => {
    const one = scene({ isFull: true });
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs);
    assert.deepEqual(one.answers, { 1: 'HUB_INPUTS_FULL' });
    assert.equal(one.first.isAway, false);
    one.at(0).answer(done);
    assert.deepEqual((await one.read(one.first.first)).result, complete);
  });

  test('is refused if a hundred wait for a disconnected client already', async () => {
    const one = scene();
    for (let id = 1; id <= 101; id++) one.ask(id, 'roots/list', 0);
    assert.deepEqual(Object.keys(one.answers), ['101']);
    one.clock.advance(gatherMs);
    const { result } = await one.read(one.first.first);
    assert.equal(Object.keys(result.inputRequests).length, 100);
    one.ask(102, 'roots/list', 0);
    assert.deepEqual(one.answers, { 101: 'HUB_INPUTS_FULL', 102: 'HUB_INPUTS_FULL' });
  });

  test('is refused in a call whose method allows none', () => {
    const one = scene({ mayAsk: false });
    one.ask(1, 'roots/list', 0);
    assert.deepEqual(one.answers, { 1: 'HUB_CAPABILITY_MISSING' });
    assert.equal(one.clock.waiting, 0);
  });

  test('beyond its capabilities is named as a required capability if the server fails for it', async () => {
    const one = scene({ capabilities: { roots: {} } });
    one.ask(1, 'sampling/createMessage', 0);
    assert.deepEqual(one.answers, { 1: 'HUB_CAPABILITY_MISSING' });
    one.at(0).answer({ error: { code: -32601, message: 'no sampling' } });
    const { error } = await one.read(one.first.first);
    assert.deepEqual([error.code, error.data.requiredCapabilities], [-32021, { sampling: {} }]);
  });

  test('beyond its capabilities is not named in another error', async () => {
    const one = scene({ capabilities: { roots: {} } });
    one.ask(1, 'sampling/createMessage', 0);
    one.at(0).answer({ error: { code: -32603, message: 'broken' } });
    assert.equal((await one.read(one.first.first)).error.code, -32603);
  });

  test('that the server cancels before it was sent is not sent', async () => {
    const one = scene();
    one.ask(1, 'roots/list', 0);
    one.first.withdrawn(one.running.upstream, '2');
    assert.deepEqual(one.answers, {});
    one.first.withdrawn(one.running.upstream, '1');
    assert.deepEqual(one.answers, { 1: 'HUB_CLIENT_GONE' });
    one.clock.advance(gatherMs);
    assert.equal(one.first.isAway, false);
  });
});

describe('the answers of a client', () => {
  test.each([
    ['of an earlier round', 0],
    ['of a later round', 2],
  ])('%s are refused, and those of this round are accepted', async (_, round) => {
    const one = scene();
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs);
    await one.read(one.first.first);
    await assert.rejects(one.resume(round, { 1: { evil: 1 } }), { code: 'HUB_STATE_INVALID' });
    assert.deepEqual(one.answers, {});
    const resumed = one.resume(1, { 1: { roots: [] } });
    await assert.rejects(one.resume(1, { 1: { evil: 1 } }), { code: 'HUB_STATE_INVALID' });
    one.at(0).answer(done);
    await resumed;
    assert.deepEqual(one.answers, { 1: { roots: [] } });
  });

  test.each([
    ['the time of the entry at a shared server', { inputTimeoutMs: 5_000 }, 5_000],
    [
      'ten minutes at an instance of its own',
      { instance: 'session', inputTimeoutMs: 5_000 },
      600_000,
    ],
  ] as const)('are waited for during %s', async (_, fixture, waitMs) => {
    const one = scene({ fixture });
    one.ask(1, 'roots/list', 0);
    one.clock.advance(gatherMs);
    await one.read(one.first.first);
    one.clock.advance(waitMs - 1);
    assert.equal(one.at(0).cancelled(), undefined);
    one.clock.advance(1);
    assert.match(one.at(0).cancelled() ?? '', new RegExp(`within ${waitMs / 1_000} seconds`));
    assert.deepEqual(one.answers, { 1: 'HUB_STATE_INVALID' });
    assert.equal(one.waiting.size, 0);
  });
});

describe('two calls of a client', () => {
  test("carry each other's requests, and the second sends again what the first left unanswered", async () => {
    const one = scene();
    const second = one.begin();
    one.ask(1, 'roots/list');
    one.clock.advance(gatherMs);
    await one.read(one.first.first);
    one.at(0).answer(done);
    await new Promise(setImmediate);
    assert.deepEqual(one.answers, {}, 'the client may still answer');
    const finished = await one.resume(1, {});
    assert.deepEqual(finished.result, complete);
    one.clock.advance(gatherMs);
    assert.deepEqual(Object.keys((await one.read(second.first)).result.inputRequests), ['1']);
  });

  test('get no notification that may be about the other', () => {
    const one = scene({ logLevel: 'info' });
    const log = (index?: number) => {
      const notification = readMessage(
        encodeCall(undefined, 'notifications/message', { level: 'error', data: index }),
      );
      assert.ok(notification.kind === 'notification');
      const { caller } = one.at(0);
      const told = index === undefined ? notification : { ...notification, about: caller };
      caller.owner.notification(told, caller.responseStream);
    };
    log();
    assert.equal(one.streamed.length, 1);
    one.begin();
    log();
    assert.equal(one.streamed.length, 1, 'it may be about the second');
    log(0);
    assert.equal(one.streamed.length, 2);
    one.at(1).answer(done);
    log();
    assert.equal(one.streamed.length, 3, 'the second was answered, in the same chunk perhaps');
  });
});

test('a request that is open when the server has answered is refused if no other call carries it', async () => {
  const one = scene();
  one.ask(1, 'roots/list', 0);
  one.at(0).answer(done);
  await one.read(one.first.first);
  assert.deepEqual(one.answers, { 1: 'HUB_STATE_INVALID' });
  one.clock.advance(gatherMs);
  assert.equal(one.first.isAway, false);
});

test('a client that cancels ends the call at the server, and its requests', async () => {
  const one = scene();
  one.ask(1, 'roots/list', 0);
  cancelCall(one.opening.cancellation, 'no need');
  assert.equal(one.at(0).cancelled(), 'no need');
  assert.deepEqual(one.answers, { 1: 'HUB_STATE_INVALID' });
  await assert.rejects(one.first.first);
});

describe('a client without a session is notified', () => {
  const tells = (method: string, given: object, options: Options = {}) => {
    const one = scene(options);
    const notification = readMessage(encodeCall(undefined, method, given));
    assert.ok(notification.kind === 'notification');
    const { caller } = one.at(0);
    caller.owner.notification(notification, caller.responseStream);
    return one.streamed.length;
  };

  test.each([
    ['a log message of its level', 'notifications/message', { level: 'error' }, 'warning', 1],
    ['none below it', 'notifications/message', { level: 'info' }, 'warning', 0],
    ['none where it asked for none', 'notifications/message', { level: 'error' }, undefined, 0],
    ['of no page that is complete', 'notifications/elicitation/complete', {}, 'debug', 0],
    ['anything else', 'notifications/anything', {}, undefined, 1],
  ] as const)('%s', (_, method, given, logLevel, times) => {
    assert.equal(tells(method, given, { logLevel }), times);
  });
});
