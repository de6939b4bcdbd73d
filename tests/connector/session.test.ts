import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Answer, type Notification, type Request, readMessages } from '#jsonrpc';
import { createForwardedRequests, createSession } from '../../hub/connector/session.ts';

const messageOf = (value: object) => readMessages(Buffer.from(JSON.stringify(value))).messages[0];

function request(id: string | number, method: string, params: object = {}): Request {
  const message = messageOf({ jsonrpc: '2.0', id, method, params });
  assert.ok(message?.kind === 'request');
  return message;
}
function notification(method: string, params: object = {}): Notification {
  const message = messageOf({ jsonrpc: '2.0', method, params });
  assert.ok(message?.kind === 'notification');
  return message;
}
function answer(id: string | number | null, more: object = { result: {} }): Answer {
  const message = messageOf({ jsonrpc: '2.0', id, ...more });
  assert.ok(message?.kind === 'answer');
  return message;
}
const done = answer(0);
const failed = (id: string | number) => answer(id, { error: { code: -1, message: 'no' } });
const parsed = (messages: readonly Buffer[]) => messages.map(bytes => JSON.parse(bytes.toString()));

const subscribe = (uri: string) => request(uri, 'resources/subscribe', { uri });
const unsubscribe = (uri: string) => request(uri, 'resources/unsubscribe', { uri });
const initialize = request('c', 'initialize', { clientInfo: { name: 'x' } });

describe('a session that is restored', () => {
  test('begins with the initialize of the client, under an id of the bridge', () => {
    const session = createSession();
    assert.equal(session.initializeAgain(), undefined);
    session.recordAnswer(initialize, done);
    const again = session.initializeAgain();
    assert.equal(again?.id, '"agenthub-bridge-1"');
    assert.deepEqual(parsed([again.bytes]), [
      {
        jsonrpc: '2.0',
        id: 'agenthub-bridge-1',
        method: 'initialize',
        params: { clientInfo: { name: 'x' } },
      },
    ]);
  });

  test('repeats what the hub accepted: initialized, the last log level and subscriptions', () => {
    const session = createSession();
    session.recordNotification(notification('notifications/other'));
    session.recordNotification(notification('notifications/initialized'));
    session.recordAnswer(request(1, 'logging/setLevel', { level: 'debug' }), done);
    session.recordAnswer(request(2, 'logging/setLevel', { level: 'info' }), done);
    session.recordAnswer(request(3, 'logging/setLevel', { level: 'none' }), failed(3));
    for (const uri of ['a', 'b', 'a']) session.recordAnswer(subscribe(uri), done);
    session.recordAnswer(subscribe('c'), failed('c'));
    session.recordAnswer(unsubscribe('b'), done);
    session.recordAnswer(request(4, 'tools/list'), done);
    assert.deepEqual(
      parsed(session.restore()).map(({ method, params }) => [method, params]),
      [
        ['notifications/initialized', {}],
        ['logging/setLevel', { level: 'info' }],
        ['resources/subscribe', { uri: 'a' }],
      ],
    );
  });

  test('renews 1000 subscriptions at most', () => {
    const session = createSession();
    for (let number = 0; number <= 1000; number++)
      session.recordAnswer(subscribe(`uri-${number}`), done);
    assert.equal(session.restore().length, 1000);
  });
});

describe('a response to a request of the restoration', () => {
  function restored(...uris: readonly string[]) {
    const session = createSession();
    for (const uri of uris) session.recordAnswer(subscribe(uri), done);
    const ids = parsed(session.restore()).map(({ id }) => String(id));
    return { session, ids };
  }

  test('is not forwarded to the client, and all others are', () => {
    const { session, ids } = restored('a');
    const [id = ''] = ids;
    assert.equal(session.recordRestored(answer('agenthub-bridge-0')), false);
    assert.equal(session.recordRestored(answer(null, { error: { code: 1, message: '' } })), false);
    assert.equal(session.recordRestored(answer(id)), true);
    assert.equal(session.recordRestored(answer(id)), false);
  });

  test('that refuses a subscription allows a retry under another id', () => {
    const { session, ids } = restored('a', 'b', 'c');
    const [a = '', b = '', c = ''] = ids;
    session.recordRestored(failed(a));
    session.recordRestored(answer(b));
    session.recordRestored(failed(c));
    session.recordAnswer(unsubscribe('c'), done);
    const [again, ...others] = parsed(session.retrySubscriptions());
    assert.deepEqual([again.params, others], [{ uri: 'a' }, []]);
    assert.ok(!ids.includes(again.id));
    assert.deepEqual(session.retrySubscriptions(), [], 'it is under way');
    session.recordRestored(failed(again.id));
    assert.equal(session.retrySubscriptions().length, 1);
  });

  test('is ignored if it is for an earlier hub', () => {
    const { session, ids } = restored('a', 'b');
    session.recordRestored(failed(ids[1] ?? ''));
    session.restore();
    assert.equal(session.recordRestored(failed(ids[0] ?? '')), false);
    assert.deepEqual(session.retrySubscriptions(), []);
  });
});

describe('requests of hubs to a client', () => {
  const idOf = (bytes: Buffer | undefined) => bytes && JSON.parse(bytes.toString()).id;

  test('of the first hub keep their ids, and those of later ones get ids of their own', () => {
    const forwarded = createForwardedRequests();
    assert.equal(idOf(forwarded.requestForClient(request(1, 'ping'))), 1);
    assert.deepEqual(forwarded.nextHub(), ['1']);
    assert.equal(idOf(forwarded.requestForClient(request(1, 'ping'))), '1/1');
    assert.equal(idOf(forwarded.requestForClient(request('a"', 'ping'))), '1/"a\\""');
    assert.deepEqual(forwarded.nextHub(), ['"1/1"', JSON.stringify('1/"a\\""')]);
    assert.deepEqual(forwarded.nextHub(), []);
  });

  test('are answered to the hub that sent them, with its own id, once', () => {
    const forwarded = createForwardedRequests();
    forwarded.requestForClient(request(1, 'ping'));
    forwarded.nextHub();
    forwarded.requestForClient(request('a"', 'ping'));
    assert.equal(forwarded.answerForHub(answer(1)), undefined, 'the first hub is gone');
    assert.equal(idOf(forwarded.answerForHub(answer('1/"a\\""'))), 'a"');
    assert.equal(forwarded.answerForHub(answer('1/"a\\""')), undefined);
    const nobody = answer(null, { error: { code: 1, message: '' } });
    assert.equal(forwarded.answerForHub(nobody), undefined);
  });

  test('that the hub cancels are cancelled by the id that the client knows', () => {
    const forwarded = createForwardedRequests();
    forwarded.nextHub();
    forwarded.requestForClient(request(7, 'ping'));
    const cancel = notification('notifications/cancelled', { requestId: 7, reason: 'late' });
    assert.deepEqual(JSON.parse(forwarded.notificationForClient(cancel).toString()).params, {
      requestId: '1/7',
      reason: 'late',
    });
    assert.equal(forwarded.answerForHub(answer('1/7')), undefined);
  });

  test.for([
    notification('notifications/cancelled', { reason: 'of a task' }),
    notification('notifications/message', { requestId: 7 }),
  ])('do not change other notifications: $method', message => {
    const forwarded = createForwardedRequests();
    forwarded.nextHub();
    assert.equal(forwarded.notificationForClient(message), message.bytes);
  });

  test('are dropped, the oldest first, if more than 1000 are open', () => {
    const forwarded = createForwardedRequests();
    for (let id = 0; id <= 1000; id++) forwarded.requestForClient(request(id, 'ping'));
    assert.equal(forwarded.answerForHub(answer(0)), undefined);
    assert.equal(idOf(forwarded.answerForHub(answer(1))), 1);
  });
});
