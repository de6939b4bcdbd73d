import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { startHub, until } from '#helpers/hub';
import { metaKeys } from '#mcp';
import { openCaller } from '#policy';
import {
  modernHeaders,
  modernMeta,
  modernRequest,
  postModern as post,
  posting,
  send,
} from './raw.ts';
import { type Opened, type StubOptions, startStub } from './stub-router.ts';

const complete = { result: { resultType: 'complete' } };
const atOnce: StubOptions = { answer: opened => opened.answer(complete) };
const listen = 'subscriptions/listen';

/** Returns the request that was opened last. */
const lastOf = ({ opened }: { readonly opened: readonly Opened[] }) =>
  opened.at(-1) ?? assert.fail('nothing was opened');

describe('a request of the stateless revision', () => {
  test('is answered in JSON by a session of its own, which then ends', async () => {
    await using stub = await startStub(atOnce);
    const response = await post(stub.url, 'tools/list');
    assert.equal(response.status, 200);
    assert.match(String(response.headers['content-type']), /^application\/json/);
    assert.equal(response.headers['mcp-session-id'], undefined);
    assert.deepEqual(await response.json(), { jsonrpc: '2.0', id: 1, ...complete });
    await until(() => lastOf(stub).closed() === 'the request is over');
    assert.equal(stub.streamable.sessionCount, 0);
  });

  test('needs no session and ignores the one that it names', async () => {
    await using stub = await startStub(atOnce);
    const headers = { 'mcp-session-id': 'unknown', 'last-event-id': '1-1' };
    const response = await post(stub.url, 'tools/list', { headers });
    assert.equal(response.status, 200);
    assert.equal(response.headers['mcp-session-id'], undefined);
  });

  test('is recognized by its header, or by its metadata if the header is missing or unknown', async () => {
    await using stub = await startStub(atOnce);
    const { 'mcp-protocol-version': _version, ...unversioned } = modernHeaders('tools/list');
    const answered = await send(stub.url, {
      method: 'POST',
      headers: unversioned,
      body: modernRequest(7, 'tools/list'),
    });
    assert.equal(answered.status, 400);
    const { error, id } = await answered.json();
    assert.equal(id, 7);
    assert.match(JSON.stringify(error), /-32020.*MCP-Protocol-Version is missing/);
    const legacy = await send(stub.url, {
      method: 'POST',
      headers: { ...posting, 'mcp-protocol-version': '2025-11-25' },
      body: { jsonrpc: '2.0', id: 8, method: 'tools/list' },
    });
    assert.match(await legacy.body(), /Mcp-Session-Id is missing/);
  });

  test('is answered by a stream if a notification comes before the response', async () => {
    await using stub = await startStub();
    const pending = post(stub.url, 'tools/call', {
      params: { name: 't' },
      headers: modernHeaders('tools/call', 't'),
    });
    await until(() => stub.opened.length === 1);
    const opened = lastOf(stub);
    opened.related('notifications/progress', { progress: 1 });
    const response = await pending;
    assert.equal(response.status, 200);
    assert.match(String(response.headers['content-type']), /^text\/event-stream/);
    assert.equal(response.headers['x-accel-buffering'], 'no');
    assert.equal(response.headers['mcp-session-id'], undefined);
    opened.related('notifications/message', { level: 'info' });
    await until(() => response.messages().length === 2);
    assert.equal(response.ended(), false);
    opened.answer({ error: { code: -32601, message: 'unknown' } });
    await response.body();
    assert.deepEqual(
      response.messages().map(message => message['method'] ?? message['id']),
      ['notifications/progress', 'notifications/message', 1],
    );
    assert.doesNotMatch(response.text(), /^(id|retry):|^data: \n/m, 'nothing to resume from');
  });

  test('is answered by a stream if the client accepts only that, and likewise in JSON', async () => {
    await using stub = await startStub({
      answer(opened) {
        opened.related('notifications/progress', { progress: 1 });
        opened.answer(complete);
      },
    });
    const streamed = await post(stub.url, 'tools/list', {
      headers: { accept: 'text/event-stream' },
    });
    await streamed.body();
    assert.equal(streamed.messages().length, 2);
    const plain = await post(stub.url, 'tools/list', { headers: { accept: 'application/json' } });
    assert.deepEqual(await plain.json(), { jsonrpc: '2.0', id: 1, ...complete });
    const neither = await post(stub.url, 'tools/list', { headers: { accept: 'text/html' } });
    assert.equal(neither.status, 406);
  });

  test('that fails has its status even if the client accepts only streams', async () => {
    await using stub = await startStub({
      answer: opened => opened.answer({ error: { code: -32601, message: 'unknown' } }),
    });
    const response = await post(stub.url, 'a/b', { headers: { accept: 'text/event-stream' } });
    assert.equal(response.status, 404);
    assert.equal((await response.json())['id'], 1);
  });

  test('for subscriptions is a stream even without notifications, and refused if streams are not accepted', async () => {
    await using stub = await startStub(atOnce);
    const response = await post(stub.url, listen);
    assert.match(String(response.headers['content-type']), /^text\/event-stream/);
    await response.body();
    assert.deepEqual(response.messages(), [{ jsonrpc: '2.0', id: 1, ...complete }]);
    const refused = await post(stub.url, listen, { headers: { accept: 'application/json' } });
    assert.equal(refused.status, 406);
    assert.equal((await refused.json())['id'], 1);
    assert.equal(stub.opened.length, 1);
  });

  test('is cancelled by the end of its connection, before and after a notification', async () => {
    await using stub = await startStub();
    const cut = new AbortController();
    const silent = post(stub.url, 'tools/list', {}, cut.signal);
    await until(() => stub.opened.length === 1);
    cut.abort();
    await assert.rejects(silent);
    await until(() => stub.opened[0]?.closed() === 'the client hung up');
    const talking = post(stub.url, 'tools/list');
    await until(() => stub.opened.length === 2);
    lastOf(stub).related('notifications/progress', { progress: 1 });
    (await talking).cut();
    await until(() => stub.opened[1]?.closed() === 'the client hung up');
    // Messages for a client that is gone must not throw.
    lastOf(stub).related('notifications/progress', { progress: 2 });
    lastOf(stub).answer(complete);
  });

  test('that takes long becomes a stream with comments', async () => {
    const clock = createManualClock();
    await using stub = await startStub({ clock });
    const pending = post(stub.url, 'tools/list');
    const plain = post(stub.url, 'tools/list', { headers: { accept: 'application/json' } });
    await until(() => stub.opened.length === 2);
    clock.advance(15_000);
    const response = await pending;
    await until(() => response.text() === ': keep-alive\n\n');
    clock.advance(15_000);
    await until(() => response.text() === ': keep-alive\n\n: keep-alive\n\n');
    for (const opened of stub.opened) opened.answer(complete);
    await response.body();
    assert.deepEqual(response.messages(), [{ jsonrpc: '2.0', id: 1, ...complete }]);
    assert.match(String((await plain).headers['content-type']), /^application\/json/);
    clock.advance(15_000);
    assert.equal(clock.waiting, 0, 'nothing is looked after any more');
  });

  test('is dropped with its stream when its client does not read', async () => {
    await using stub = await startStub();
    const pending = post(stub.url, listen);
    await until(() => stub.opened.length === 1);
    lastOf(stub).related('notifications/one');
    const response = await pending;
    response.pause();
    const text = 'x'.repeat(1024 * 1024);
    let sent = 0;
    await until(
      () => {
        lastOf(stub).related('notifications/many', { text });
        sent++;
        return lastOf(stub).closed() !== undefined;
      },
      () => sent,
    );
    assert.equal(lastOf(stub).closed(), 'the client hung up');
    assert.ok(sent > 60 && sent < 100, String(sent));
  });

  test('is dropped with its stream when its connection makes no progress', async () => {
    await using stub = await startStub();
    const connected = once(stub.http, 'connection');
    const pending = post(stub.url, listen);
    const [socket] = await connected;
    await until(() => stub.opened.length === 1);
    lastOf(stub).related('notifications/one');
    await pending;
    assert.equal(socket.timeout, 60_000);
    // Node emits `timeout` when nothing was transferred for that long.
    socket.emit('timeout');
    await until(() => lastOf(stub).closed() === 'the client hung up');
  });

  test('of a client with half of all requests is refused, and those of others are not', async () => {
    await using stub = await startStub({
      maxSessions: 4,
      principalOf: name => ({
        kind: 'client',
        name: name ?? 'mallory',
        grants: { administer: false },
      }),
    });
    const pending = [post(stub.url, 'tools/list'), post(stub.url, 'tools/list')];
    await until(() => stub.opened.length === 2);
    const refused = await post(stub.url, 'tools/list');
    assert.equal(refused.status, 503);
    assert.match(await refused.body(), /2 requests of \\"mallory\\".*"HUB_SESSIONS_FULL"/);
    pending.push(post(stub.url, 'tools/list', { headers: { 'x-client-name': 'alice' } }));
    await until(() => stub.opened.length === 3);
    for (const opened of stub.opened) opened.answer(complete);
    for (const one of await Promise.all(pending)) assert.equal(one.status, 200);
    pending.push(post(stub.url, 'tools/list'));
    await until(() => stub.opened.length === 4);
    lastOf(stub).answer(complete);
    assert.equal((await pending.at(-1))?.status, 200);
  });

  test('above the limit is refused with a retry', async () => {
    await using stub = await startStub({ maxSessions: 1 });
    const first = post(stub.url, 'tools/list');
    await until(() => stub.opened.length === 1);
    const second = await post(stub.url, 'tools/list');
    assert.equal(second.status, 503);
    assert.match(await second.body(), /"id":1,.*"HUB_SESSIONS_FULL".*"retryable":true/);
    lastOf(stub).answer(complete);
    assert.equal((await first).status, 200);
    await until(() => lastOf(stub).closed() !== undefined);
    const third = post(stub.url, 'tools/list');
    await until(() => stub.opened.length === 2);
    lastOf(stub).answer(complete);
    assert.equal((await third).status, 200);
  });
});

describe('the status of an answer', () => {
  const rows: readonly (readonly [number, number])[] = [
    [-32601, 404],
    [-32020, 400],
    [-32021, 400],
    [-32022, 400],
    [-32602, 200],
    [-32603, 200],
    [-32005, 200],
  ];
  for (const [code, status] of rows)
    test(`with the code ${code} is ${status}`, async () => {
      const error = { code, message: 'why' };
      await using stub = await startStub({ answer: opened => opened.answer({ error }) });
      const response = await post(stub.url, 'tools/list');
      assert.equal(response.status, status);
      assert.deepEqual(await response.json(), { jsonrpc: '2.0', id: 1, error });
    });

  test('is 200 for a result with an error inside', async () => {
    const result = { code: -32601, error: 'inside' };
    await using stub = await startStub({ answer: opened => opened.answer({ result }) });
    assert.equal((await post(stub.url, 'tools/list')).status, 200);
  });
});

describe('notifications and the end', () => {
  test('a notification is passed on and answered with 202 without a body', async () => {
    await using stub = await startStub();
    const response = await send(stub.url, {
      method: 'POST',
      headers: { ...posting, 'mcp-protocol-version': '2026-07-28' },
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    });
    assert.equal(response.status, 202);
    assert.equal(await response.body(), '');
    assert.equal(lastOf(stub).message.kind, 'notification');
    assert.ok(lastOf(stub).closed());
  });

  test('the end of a principal ends its calls that wait for an answer of its client, and no others', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const params = {
      name: 'ask',
      arguments: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
    };
    const sampling = { [metaKeys.clientCapabilities]: { sampling: {} } };
    const call = async (more: object = {}) => {
      const response = await post(`${hub.url}/mcp/asker`, 'tools/call', {
        params: { ...params, ...more, _meta: { ...modernMeta, ...sampling } },
        headers: modernHeaders('tools/call', 'ask'),
      });
      const { result } = await response.json();
      return isObject(result) ? result : {};
    };
    const { resultType, requestState } = await call();
    assert.equal(resultType, 'input_required');
    const inFlight = () => hub.server('asker').running?.upstream.inFlight();
    hub.streamable.endOf({ ...openCaller, name: 'other' }, 'its token was revoked');
    assert.equal(inFlight(), 1);
    hub.streamable.endOf(openCaller, 'its token was revoked');
    assert.equal(inFlight(), 0);
    const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
    assert.deepEqual(await call({ requestState, inputResponses: { 1: sampled } }), {});
  });

  test('draining lets requests finish, waits for no subscription, and refuses new ones', async () => {
    await using stub = await startStub();
    const listening = post(stub.url, listen);
    await until(() => stub.opened.length === 1);
    const calling = post(stub.url, 'tools/list');
    await until(() => stub.opened.length === 2);
    const drained = stub.streamable.drain(60_000);
    const late = await post(stub.url, 'tools/list');
    assert.equal(late.status, 503);
    assert.equal(stub.opened[0]?.closed(), undefined);
    lastOf(stub).answer(complete);
    assert.deepEqual(await (await calling).json(), { jsonrpc: '2.0', id: 1, ...complete });
    await drained;
    const ended = await listening;
    await ended.body();
    assert.deepEqual(
      ended.messages().map(({ id }) => id),
      [1],
    );
  });

  test('draining ends a request that takes too long with a response', async () => {
    await using stub = await startStub();
    const calling = post(stub.url, 'tools/list');
    await until(() => stub.opened.length === 1);
    await stub.streamable.drain(30);
    assert.match(await (await calling).body(), /the hub is stopping/);
  });
});
