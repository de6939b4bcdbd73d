import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import { createMemoryCallLimiter } from '#resilience';
import type { LimitNeeds, LimitRules } from '#routing';
import { createLimitStep } from '../../../hub/routing/steps/limits.ts';
import type { Json, RawClient } from '../../contracts/client-transport.ts';
import {
  openOnStdio,
  openOverBridge,
  openSse,
  openStreamable,
  openWebSocket,
} from '../../transports/raw-clients.ts';
import {
  call,
  modernHeaders,
  modernMeta,
  openSession,
  postModern,
  send,
} from '../../transports/raw.ts';
import { openModern } from '../modern.ts';

const eras = ['2025-11-25', '2026-07-28'] as const;
const cap = 4;
const burst = 128;
const capped: LimitRules = { clients: new Map(), perSession: { maxConcurrentCalls: cap } };

function limitsOf(rules: () => LimitRules | undefined, clock = createManualClock()): LimitNeeds {
  return {
    rules,
    clients: createMemoryCallLimiter(clock),
    sessions: createMemoryCallLimiter(clock),
  };
}

/** Returns the message and data of the error in an answer. */
function errorIn({ error }: Json) {
  const { message, data } = isObject(error) ? error : {};
  return { message: String(message), data: isObject(data) ? data : {} };
}

const isRefused = (answer: Json) => errorIn(answer).data['code'] === 'HUB_LIMIT_REACHED';

test('without limits there is no step', () => {
  assert.equal(createLimitStep(undefined), undefined);
});

const transports: Readonly<Record<string, (hub: TestHub) => Promise<RawClient>>> = {
  'streamable HTTP': hub => openStreamable(hub),
  WebSocket: hub => openWebSocket(hub),
  SSE: hub => openSse(hub),
  stdio: hub => openOnStdio(hub, undefined, 'lines'),
  'connect-stdio': hub => openOverBridge(hub, undefined, 'lines'),
};

describe('as many concurrent calls are admitted as the limit says', () => {
  let hub: TestHub;
  beforeAll(async () => {
    // More concurrent calls than the test sends, so that only the limit refuses any.
    const echo = { name: 'echo', maxConcurrentCalls: 2 * burst };
    hub = await startHub([echo], {
      limits: limitsOf(() => capped),
      streamable: { maxSessions: 2 * burst },
    });
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  for (const [name, open] of Object.entries(transports))
    // A session of streamable HTTP always uses a revision before 2026-07-28.
    for (const era of name === 'streamable HTTP' ? eras.slice(0, 1) : eras)
      test(`over ${name} in ${era}, and cancelled ones free their places`, async () => {
        const client = await open(hub);
        const meta = era === '2026-07-28' ? modernMeta : undefined;
        const answers = () => client.received.filter(({ id }) => typeof id === 'number');
        client.send({
          jsonrpc: '2.0',
          id: 'open',
          method: 'initialize',
          params: {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name: 'limits', version: '1' },
          },
        });
        await until(() => client.received.some(({ id }) => id === 'open'));
        client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
        for (let id = 1; id <= burst; id++)
          client.send(call(id, 'echo_slow', { ms: 60_000 }, meta));
        await until(
          () => answers().length === burst - cap,
          () => answers().length,
        );
        assert.ok(answers().every(isRefused));
        const answered = new Set(answers().map(({ id }) => id));
        const running = Array.from({ length: burst }, (_, index) => index + 1).filter(
          id => !answered.has(id),
        );
        assert.equal(running.length, cap);
        // A request for a list does not count as a call.
        client.send({
          jsonrpc: '2.0',
          id: burst + 1,
          method: 'tools/list',
          params: meta ? { _meta: meta } : {},
        });
        await until(() => answers().some(({ id, result }) => id === burst + 1 && isObject(result)));
        for (const requestId of running)
          client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
        await until(
          () => hub.router.inFlight === 0,
          () => hub.router.inFlight,
        );
        client.send(call(burst + 2, 'echo_echo', { text: 'x' }, meta));
        await until(() => answers().some(({ id }) => id === burst + 2));
        assert.ok(isObject(answers().find(({ id }) => id === burst + 2)?.['result']));
        client.close();
      });

  test('over HTTP without a session, where all requests of the caller are counted together', async () => {
    const url = `${hub.url}/mcp`;
    const params = { name: 'echo_slow', arguments: { ms: 60_000 }, _meta: modernMeta };
    const aborts = new AbortController();
    const refused: Json[] = [];
    const all = Array.from({ length: burst }, async () => {
      const headers = modernHeaders('tools/call', 'echo_slow');
      const response = await postModern(url, 'tools/call', { params, headers }, aborts.signal);
      const answer: unknown = JSON.parse(await response.body());
      if (isObject(answer)) refused.push(answer);
    });
    const settled = Promise.allSettled(all);
    await until(() => refused.length === burst - cap);
    assert.ok(refused.every(isRefused));
    assert.equal(hub.router.inFlight, cap);
    aborts.abort();
    await settled;
    await until(() => hub.router.inFlight === 0);
    const again = { name: 'echo_echo', arguments: { text: 'x' }, _meta: modernMeta };
    const headers = modernHeaders('tools/call', 'echo_echo');
    const response = await postModern(url, 'tools/call', { params: again, headers });
    assert.equal(response.status, 200);
  });
});

const cursor: Principal = { kind: 'client', name: 'cursor', grants: { administer: false } };
const other: Principal = { kind: 'client', name: 'other', grants: { administer: false } };

test('a named client has one bucket for all its sessions, and others have their own', async () => {
  const clock = createManualClock();
  const rate = { calls: 10, perMs: 60_000 };
  const rules = { clients: new Map([['cursor', { rate }]]), perSession: undefined };
  await using hub = await startHub([{ name: 'echo' }], { limits: limitsOf(() => rules, clock) });
  const sessions = Array.from({ length: 4 }, () =>
    openModern(hub, 'all', undefined, undefined, cursor),
  );
  const admitted = async (count: number, from = sessions) => {
    const all = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        from[index % from.length]?.call('echo_echo', { text: 'x' }),
      ),
    );
    return all.filter(answer => answer?.error === undefined).length;
  };
  assert.equal(await admitted(64), 10);
  assert.equal(await admitted(64), 0);
  clock.advance(12_000);
  assert.equal(await admitted(64), 2);
  const others = [openModern(hub, 'all', undefined, undefined, other)];
  assert.equal(await admitted(20, others), 20);
});

test('the refusal has the limit, the remedy and the time of a retry, in a header if the status allows it', async () => {
  const rate = { calls: 1, perMs: 90_000 };
  const rules = { clients: new Map(), perSession: { rate } };
  await using hub = await startHub([{ name: 'echo' }], { limits: limitsOf(() => rules) });
  const session = await openSession(`${hub.url}/mcp`);
  await (await session.post(call(1, 'echo_echo', { text: 'x' }))).body();
  const refused: unknown = JSON.parse(
    await (await session.post(call(2, 'echo_echo', { text: 'x' }))).body(),
  );
  assert.ok(isObject(refused));
  const { message, data } = errorIn(refused);
  assert.equal(
    message,
    'this session makes more than 1 calls in 90 s. Try again in 90 s, or raise limits.per_session.rate in the config',
  );
  const { retryable, retryAfterMs, limit } = data;
  assert.deepEqual([retryable, retryAfterMs, limit], [true, 90_000, 'limits.per_session.rate']);
  const direct = () =>
    send(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: { name: 'echo', arguments: { text: 'x' } },
    });
  assert.equal((await direct()).status, 200);
  const { status, headers } = await direct();
  assert.deepEqual([status, headers['retry-after']], [503, '90']);
});

test('a reload applies to the next call of an open session', async () => {
  let rules: LimitRules | undefined;
  await using hub = await startHub([{ name: 'echo' }], { limits: limitsOf(() => rules) });
  const client = openModern(hub, 'all', undefined, undefined, cursor);
  const isAdmitted = async () =>
    (await client.call('echo_echo', { text: 'x' })).error === undefined;
  assert.equal(await isAdmitted(), true);
  rules = {
    clients: new Map([['cursor', { rate: { calls: 1, perMs: 60_000 } }]]),
    perSession: undefined,
  };
  assert.deepEqual([await isAdmitted(), await isAdmitted()], [true, false]);
  rules = undefined;
  assert.equal(await isAdmitted(), true);
});

test('prompts, resources and completions count; methods that the hub answers itself do not', async () => {
  const rules = {
    clients: new Map([['cursor', { rate: { calls: 3, perMs: 60_000 } }]]),
    perSession: undefined,
  };
  await using hub = await startHub([{ name: 'echo' }], { limits: limitsOf(() => rules) });
  const { ask } = openModern(hub, 'all', undefined, undefined, cursor);
  const uri = hub.server('echo').listing.resource[0]?.key ?? '';
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'server/discover'])
    assert.equal((await ask(method))['error'], undefined, method);
  const counted: readonly (readonly [string, object])[] = [
    ['prompts/get', { name: 'echo_greet', arguments: { name: 'Ada' } }],
    ['resources/read', { uri }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'echo_greet' }, argument: { name: 'name', value: 'A' } },
    ],
  ];
  for (const [method, params] of counted)
    assert.equal((await ask(method, params))['error'], undefined, method);
  for (const [method, params] of counted) {
    const { error } = await ask(method, params);
    assert.ok(isObject(error) && isObject(error['data']), method);
    assert.equal(error['data']['code'], 'HUB_LIMIT_REACHED', method);
  }
  assert.equal((await ask('tools/list'))['error'], undefined);
});

test('a call that fails frees its place', async () => {
  const rules = {
    clients: new Map([['cursor', { maxConcurrentCalls: 1 }]]),
    perSession: undefined,
  };
  await using hub = await startHub([{ name: 'echo' }], { limits: limitsOf(() => rules) });
  const client = openModern(hub, 'all', undefined, undefined, cursor);
  for (let round = 0; round < 3; round++)
    assert.ok(isObject((await client.ask('prompts/get', { name: 'echo_none' }))['error']));
  const { error } = await client.call('echo_crash', { code: 1 });
  assert.notEqual(error, undefined);
  await until(() => hub.server('echo').status.state === 'running');
  assert.equal((await client.call('echo_echo', { text: 'x' })).error, undefined);
});
