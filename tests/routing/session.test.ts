import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { encodeCall, readMessage } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import {
  cancelCall,
  createCancellation,
  createSessionState,
  isWanted,
  setWork,
  throwIfCancelled,
  whileCancellable,
} from '../../hub/routing/session.ts';
import { caller } from '#helpers/principal';
import { callOf, sessionOf } from './steps/scripted-call.ts';
import { createScriptedServer } from './scripted-server.ts';

test.each([
  ['error', { level: 'error' }, true],
  ['error', { level: 'emergency' }, true],
  ['error', { level: 'warning' }, false],
  [undefined, { level: 'debug' }, true],
  ['error', { level: 'loud' }, true],
  ['error', {}, true],
  ['error', 'no object', true],
  ['error', undefined, true],
] as const)('a client that requests %s gets %j: %s', (wanted, params, expected) => {
  assert.equal(isWanted(wanted, params), expected);
});

describe('a log message reaches its session', () => {
  function hears(
    levels: { requestLevel?: LogLevel | 'none'; logLevel?: LogLevel },
    defaultLevel?: LogLevel,
    method = 'notifications/message',
  ) {
    const session = Object.assign(sessionOf(), levels);
    const heard: string[] = [];
    const notification = readMessage(encodeCall(undefined, method, { level: 'warning' }));
    assert.ok(notification.kind === 'notification');
    const stream = { send: (bytes: Buffer) => void heard.push(bytes.toString()) };
    session.notification(notification, stream, defaultLevel);
    return heard.length === 1;
  }

  test.each([
    ['that set no level', {}, undefined, true],
    ['that set none, from the default level', {}, 'warning', true],
    ['that set none, not below the default level', {}, 'error', false],
    ['by its own level before the default', { logLevel: 'debug' }, 'error', true],
    [
      'by the level of its newest request before its own',
      { requestLevel: 'error', logLevel: 'debug' },
      undefined,
      false,
    ],
    [
      'not where its newest request wants none',
      { requestLevel: 'none', logLevel: 'debug' },
      undefined,
      false,
    ],
  ] as const)('%s', (_, levels, defaultLevel, expected) => {
    assert.equal(hears(levels, defaultLevel), expected);
  });

  test('and any other notification reaches it, whatever the level', () => {
    assert.equal(
      hears({ requestLevel: 'none' }, 'error', 'notifications/tools/list_changed'),
      true,
    );
  });
});

test('a session forwards requests of servers, and returns whether its client can answer', () => {
  const forwarded: unknown[] = [];
  const session = createSessionState(
    '1',
    { endpoint: 'all', principal: caller, send() {}, isSessionless: false, over: 'stdio' },
    { forward: (_, to, stream) => void forwarded.push([to === session, stream === session]) },
  );
  const request = readMessage(encodeCall(1, 'roots/list'));
  assert.ok(request.kind === 'request');
  const { upstream: connection } = createScriptedServer({ name: 'own' }).running;
  const asked = { request, connection, about: undefined, answer() {}, tell() {}, source: {} };
  session.serverRequest(asked, session);
  assert.deepEqual(forwarded, [[true, true]]);
  assert.equal(session.over, 'stdio');
  assert.equal(session.hasOpenRequest, false);
  session.clientRequests.set('1', { giveUp() {} });
  assert.equal(session.hasOpenRequest, true);
});

test('a cancelled request aborts its work with the reason, also work that begins later', () => {
  const reasons: unknown[] = [];
  const cancellation = createCancellation();
  const request = { method: 'tools/call' };
  throwIfCancelled({ cancellation, request });
  setWork(cancellation, { cancel: reason => void reasons.push(reason) });
  cancelCall(cancellation, 'no need');
  assert.deepEqual(reasons, ['no need']);
  setWork(cancellation, undefined);
  cancelCall(cancellation, undefined);
  assert.deepEqual(reasons, ['no need'], 'work that is over is not told');
  assert.throws(() => throwIfCancelled({ cancellation, request }), {
    code: 'HUB_CALL_CANCELLED',
    message: 'the client cancelled tools/call',
  });
});

describe('work that is aborted with its call', () => {
  test('does not begin for a cancelled call', async () => {
    const call = callOf('tools/call');
    cancelCall(call.cancellation, 'no need');
    await assert.rejects(
      whileCancellable(call, () => assert.fail('it is begun')),
      { code: 'HUB_CALL_CANCELLED' },
    );
  });

  test('is aborted with the reason, and rejects with the cancellation whatever it throws', async () => {
    const call = callOf('tools/call');
    const done = whileCancellable(
      call,
      signal =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error(String(signal.reason)))),
        ),
    );
    const { work } = call.cancellation;
    assert.ok(work, 'it can be cancelled');
    cancelCall(call.cancellation, 'no need');
    await assert.rejects(done, { code: 'HUB_CALL_CANCELLED' });
    assert.equal(call.cancellation.work, undefined);
  });

  test('fails with its own error otherwise, and is not aborted afterwards', async () => {
    const call = callOf('tools/call');
    const error = new Error('its own');
    await assert.rejects(
      whileCancellable(call, () => Promise.reject(error)),
      error,
    );
    assert.equal(await whileCancellable(call, async () => 'done'), 'done');
    assert.equal(call.cancellation.work, undefined);
  });
});
