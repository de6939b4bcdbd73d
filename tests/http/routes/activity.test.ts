import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { openClient } from '../../routing/clients.ts';
import { type Response, posting, send } from '../../transports/raw.ts';

type Json = { readonly [name: string]: unknown };

const callsIn = ({ calls }: Json): readonly Json[] =>
  Array.isArray(calls) ? calls.filter(isObject) : assert.fail('no calls');
const read = async (url: string) => callsIn(await (await send(url)).json());
/** Returns all calls that the stream has sent so far, oldest first. */
const toldBy = (stream: Response) =>
  stream.messages().flatMap(message => callsIn(message).toReversed());

describe('GET /activity', () => {
  test('lists the newest calls first, filtered and page by page', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    for (const text of ['one', 'two', 'three']) await client.call('echo_echo', { text });
    await client.call('echo_slow', { ms: 0 });
    await client.call('nowhere');
    const url = `${hub.url}/activity`;
    const all = await read(url);
    assert.deepEqual(
      all.map(({ method, name, server, outcome }) => [method, name, server, outcome]),
      [
        ['tools/call', 'nowhere', null, 'HUB_NAME_UNKNOWN'],
        ['tools/call', 'echo_slow', 'echo', 'ok'],
        ...Array.from({ length: 3 }, () => ['tools/call', 'echo_echo', 'echo', 'ok']),
        ['initialize', null, null, 'ok'],
      ],
    );
    const { took_ms: tookMs, server_ms: serverMs, at, client: who, ...rest } = all[1] ?? {};
    assert.ok(Number(tookMs) > Number(serverMs) && Number(serverMs) > 0);
    assert.ok(Math.abs(Date.parse(String(at)) - Date.now()) < 10_000);
    assert.equal(who, 'test 1');
    assert.deepEqual(Object.keys(rest).sort(), [
      'id',
      'method',
      'name',
      'outcome',
      'reply_bytes',
      'request_bytes',
      'server',
      'session',
    ]);
    assert.equal((await read(`${url}?tool=echo_echo`)).length, 3);
    assert.equal((await read(`${url}?outcome=failed`)).length, 1);
    const [newest, ...others] = await read(`${url}?server=echo&limit=1`);
    assert.deepEqual([newest?.['name'], others], ['echo_slow', []]);
    const before = await read(`${url}?server=echo&before=${String(newest?.['id'])}`);
    assert.equal(before.length, 3);
  });

  test.for([
    ['limit=0', /limit: \\"0\\" is not allowed: write a whole number from 1 to 500/],
    ['limit=501', /limit/],
    ['before=x', /before: \\"x\\" is/],
    ['tol=1', /tol: is not a parameter of \/activity/],
    ['server=a&server=b', /server: stands twice/],
  ] as const)('refuses ?%s', async ([query, message]) => {
    await using hub = await startHub([]);
    const response = await send(`${hub.url}/activity?${query}`);
    assert.equal(response.status, 400);
    assert.match(await response.body(), message);
  });
});

test('GET /activity/{id} has the messages of a call, without secrets, also of one without a session', async () => {
  await using hub = await startHub([{ name: 'echo' }]);
  const response = await send(`${hub.url}/mcp/echo/tools/call`, {
    method: 'POST',
    headers: posting,
    body: {
      name: 'echo',
      arguments: { text: 'my token is ghp_abcdefghijklmnopqrstuvwxyz0123456789' },
    },
  });
  assert.match(await response.body(), /ghp_/);
  const found = await (await send(`${hub.url}/activity/1`, { headers: hub.ownerHeaders })).json();
  const { request, reply, ...call } = found;
  assert.deepEqual([call['id'], call['name'], call['server']], [1, 'echo', 'echo']);
  assert.ok(isObject(request) && isObject(reply));
  assert.deepEqual([request['is_cut'], reply['is_cut']], [false, false]);
  for (const text of [request['text'], reply['text']]) {
    assert.match(String(text), /my token is \[redacted\]/);
    assert.doesNotMatch(String(text), /ghp_/);
  }
  const missing = await send(`${hub.url}/activity/99`, { headers: hub.ownerHeaders });
  assert.deepEqual(
    [missing.status, (await missing.json())['error']],
    [
      404,
      {
        code: 'HUB_CALL_UNKNOWN',
        message:
          'there is no recorded call 99: only the last calls are recorded. GET /activity lists them',
      },
    ],
  );
  assert.equal((await send(`${hub.url}/activity/x`, { headers: hub.ownerHeaders })).status, 400);
});

describe('GET /activity/events', () => {
  test('sends calls that end from then on, several at a time, and no others', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    await client.call('echo_echo', { text: 'before' });
    const stream = await send(`${hub.url}/activity/events?tool=echo_echo`);
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    // In parallel, so that the hub sends several calls per event; in sequence, each could get its own event.
    await Promise.all(Array.from({ length: 20 }, () => client.call('echo_echo', { text: 'x' })));
    await client.call('echo_slow', { ms: 0 });
    await until(() => toldBy(stream).length === 20);
    assert.ok(stream.messages().length <= 4, `${stream.messages().length} events`);
    const ids = toldBy(stream).map(({ id }) => Number(id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    await client.call('echo_echo', { text: 'later' });
    await until(() => toldBy(stream).length === 21);
    stream.cut();
  });

  test('is refused if there are a hundred streams', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const streams = await Promise.all(
      Array.from({ length: 100 }, () => send(`${hub.url}/activity/events`)),
    );
    const refused = await send(`${hub.url}/servers/echo/logs?follow`, {
      headers: hub.ownerHeaders,
    });
    assert.equal(refused.status, 503);
    assert.match(await refused.body(), /HUB_SUBSCRIPTIONS_FULL/);
    streams[0]?.cut();
    await until(() => streams[0]?.ended() === true);
    let again = await send(`${hub.url}/servers/echo/logs?follow`, { headers: hub.ownerHeaders });
    for (let tries = 0; again.status !== 200 && tries < 100; tries++)
      again = await send(`${hub.url}/servers/echo/logs?follow`, { headers: hub.ownerHeaders });
    assert.equal(again.status, 200);
    for (const stream of [...streams, again]) stream.cut();
  });
});
