import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { asBytes } from '#helpers/calls';
import { createManualClock } from '#helpers/clock';
import { readMessage } from '#jsonrpc';
import type { Exit } from '#runtimes';
import type { Upstream } from '#upstream';
import { isHalted } from '../../../hub/servers/failures.ts';
import type { Started } from '../../../hub/servers/handshake/start.ts';
import { createInstancePool, failOnClose } from '../../../hub/servers/lifecycle/instance-pool.ts';
import { createServerRecord } from '../../../hub/servers/lifecycle/server-record.ts';
import type { LifecycleEvent } from '../../../hub/servers/lifecycle/state.ts';
import {
  type Answering,
  type Replies,
  createAnswering,
  legacyReplies,
  openUpstream,
  settle,
  startOf,
} from '../answering.ts';
import { configFor } from '../scripted.ts';

/** Creates a pool for the instances of one server, and records its events and reports. */
function open() {
  const clock = createManualClock();
  const record = createServerRecord(configFor(), 'all', { clock, log: silent });
  const events: LifecycleEvent[] = [];
  const reports: string[] = [];
  let forgotten = 0;
  const pool = createInstancePool({
    clock,
    record,
    log: silent,
    random: () => 1,
    hubVersion: '0',
    isHeard: () => false,
    forgetHandle: async () => void forgotten++,
    dispatch: event => void events.push(event),
    report: error => void reports.push(String(error)),
  });
  return {
    clock,
    record,
    pool,
    events,
    reports,
    forgotten: () => forgotten,
    types: () => events.map(({ type }) => type),
    /** Launches a server with these answers; its instance gets the next id. */
    launch: async (replies: Replies = {}) => {
      const server = createAnswering({ ...legacyReplies, ...replies });
      // Without a callback for an opened upstream, only the pool can fail its calls.
      const started = await startOf(server, { clock, opened() {} });
      pool.launch(Promise.resolve(started));
      await settle();
      return { server, started };
    },
  };
}

/** Calls a tool. Resolves with the error of the call; undefined if it was answered. */
async function call(upstream: Upstream): Promise<HubError | undefined> {
  const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}';
  const request = readMessage(Buffer.from(text));
  if (request.kind !== 'request') return assert.fail(request.kind);
  const caller = {
    owner: { hasOpenRequest: false, serverRequest() {}, notification() {} },
    responseStream: { send() {} },
    progressToken: undefined,
  };
  const { answer } = upstream.relay(asBytes(request), caller, 600_000);
  return await answer.then(
    () => undefined,
    (error: unknown) => (error instanceof HubError ? error : assert.fail(String(error))),
  );
}

/** Answers the last request. */
const answerLast = (server: Answering) =>
  server.tell({ id: server.sent.at(-1)?.['id'], result: {} });

const held = { 'tools/call': 'silence' } as const;

describe('a launch', () => {
  test('is reported with an id of its own, and settles the pool', async () => {
    const { pool, events, types } = open();
    const started = Promise.withResolvers<Started>();
    pool.launch(started.promise);
    assert.equal(pool.isSettled, false);
    started.resolve(await startOf(createAnswering(legacyReplies), { variant: 'next' }));
    await pool.over();
    assert.deepEqual(events[0], { type: 'started', instance: 1, variant: 'next' });
    pool.launch(started.promise);
    await pool.over();
    assert.deepEqual(events[2], { type: 'started', instance: 2, variant: 'next' });
    assert.deepEqual(types(), ['started', 'settled', 'started', 'settled']);
    assert.equal(pool.isSettled, true);
  });

  test('that adopted a process has its start time', async () => {
    const { pool, events } = open();
    const started = await startOf(createAnswering(legacyReplies));
    const instance = { ...started.running.instance, startedAt: 7 };
    pool.launch(Promise.resolve({ ...started, running: { ...started.running, instance } }));
    await pool.over();
    const expected = { type: 'started', instance: 1, variant: undefined, startedAt: 7 };
    assert.deepEqual(events[0], expected);
  });

  test('that fails is reported with the stderr of the server', async () => {
    const { pool, record, events, types } = open();
    record.stderr.add('KEY is missing');
    pool.launch(Promise.reject(new HubError('HUB_SERVER_DOWN', 'scripted exited with code 3')));
    await pool.over();
    assert.deepEqual(types(), ['start_failed', 'settled']);
    const [event] = events;
    assert.ok(event?.type === 'start_failed' && event.failure.error instanceof HubError);
    assert.equal(event.failure.why, 'scripted did not start: it exited with code 3');
    assert.equal(event.failure.error.data.stderr, 'KEY is missing');
  });
});

describe('an attached instance that ends', () => {
  const refusal = new HubError('HUB_VOLUMES_FULL', 'its volume is full');
  test.each<[Exit, object]>([
    [
      { code: 1, detail: 'exited with code 1' },
      { why: 'scripted is gone: exited with code 1', isClean: false, isLost: false },
    ],
    [
      { code: 0, detail: 'exited with code 0' },
      { why: 'scripted is gone: exited with code 0', isClean: true, isLost: false },
    ],
    [
      { lost: true, detail: 'the engine is away' },
      { why: 'scripted is out of reach: the engine is away', isClean: false, isLost: true },
    ],
    [
      { code: 137, detail: 'killed', refusal },
      { why: 'its volume is full', isClean: false, isLost: false },
    ],
  ])('with %o fails its calls and is removed', async (exit, expected) => {
    const { clock, pool, events, launch } = open();
    const { server, started } = await launch(held);
    pool.attach(1);
    const failed = call(started.running.upstream);
    clock.advance(1_234);
    server.end(exit);
    await settle();
    assert.deepEqual(events.at(-1), { type: 'ended', instance: 1 });
    pool.detach();
    pool.reap(1);
    await pool.over();
    const reaped = events.find(({ type }) => type === 'reaped');
    assert.ok(reaped?.type === 'reaped');
    const { failure, isLost, ranMs } = reaped;
    assert.deepEqual({ why: failure.why, isClean: failure.isClean, isLost }, expected);
    assert.equal(ranMs, 1_234);
    assert.equal(await failed, failure.error);
    assert.deepEqual(server.stops, [0]);
    assert.equal(clock.waiting, 0, 'nothing is watched any more');
  });

  test('by not answering pings counts as a crash, though it exits with 0 when it is stopped', async () => {
    const { clock, pool, events, types, launch } = open();
    const { server } = await launch({ ping: 'silence' });
    pool.attach(1);
    // The first check after 30 s, three timeouts of 10 s each, and two pauses of 10 s.
    for (const ms of [30_000, 10_000, 10_000, 10_000, 10_000, 10_000]) {
      assert.ok(!types().includes('ended'));
      clock.advance(ms);
      await settle();
    }
    assert.ok(types().includes('ended'));
    assert.equal(server.isAlive, true);
    pool.reap(1);
    await pool.over();
    const reaped = events.find(({ type }) => type === 'reaped');
    assert.ok(reaped?.type === 'reaped');
    assert.equal(reaped.failure.isClean, false);
    assert.match(reaped.failure.why, /^scripted is gone: it did not answer 3 times in a row/);
    assert.equal(server.isAlive, false);
  });
});

test('a stop fails the calls of an instance, gives it time to exit, and removes its handle', async () => {
  const { pool, forgotten, types, launch } = open();
  const { server, started } = await launch(held);
  const failed = call(started.running.upstream);
  pool.stop(1);
  const error = await failed;
  assert.ok(error && isHalted(error));
  assert.match(error.message, /it was stopped$/);
  await pool.over();
  assert.deepEqual([server.stops, forgotten()], [[5_000], 1]);
  assert.equal(types().at(-1), 'settled');
});

test('a stop because the server was removed from the config fails its calls for good', async () => {
  const { pool, record, launch } = open();
  const { started } = await launch(held);
  const failed = call(started.running.upstream);
  record.close('removed');
  pool.stop(1);
  const error = await failed;
  assert.ok(error && isHalted(error));
  assert.equal(error.message, 'scripted is gone: it was removed from the config');
  assert.deepEqual(error.data, { server: 'scripted', retryable: false });
  await pool.over();
});

test('an operation on an instance that is gone or was never attached is reported as a bug', async () => {
  const { pool, reports, launch } = open();
  pool.stop(7);
  await pool.over();
  await launch();
  pool.reap(1);
  await pool.over();
  assert.deepEqual(reports, [
    'TypeError: instance 7 has ended already',
    'TypeError: instance 1 was never attached',
  ]);
});

describe('an instance that drains', () => {
  test('ends when its calls are answered', async () => {
    const { clock, pool, forgotten, launch } = open();
    const { server, started } = await launch(held);
    const answered = call(started.running.upstream);
    pool.drain(1, false);
    clock.advance(20_000);
    await settle();
    assert.equal(server.isAlive, true);
    assert.equal(pool.isSettled, false);
    answerLast(server);
    assert.equal(await answered, undefined);
    clock.advance(50);
    await pool.over();
    assert.deepEqual([server.stops, forgotten()], [[5_000], 1]);
  });

  test('exits after 30 s in any case, which fails its calls', async () => {
    const { clock, pool, launch } = open();
    const { server, started } = await launch(held);
    const failed = call(started.running.upstream);
    pool.drain(1, false);
    clock.advance(29_999);
    await settle();
    assert.equal(server.isAlive, true);
    clock.advance(1);
    assert.match((await failed)?.message ?? '', /it was stopped$/);
    await pool.over();
    assert.equal(server.isAlive, false);
  });

  test('after it was replaced does not delay the next launch, and leaves the handle', async () => {
    const { clock, pool, forgotten, launch } = open();
    const { server, started } = await launch(held);
    const answered = call(started.running.upstream);
    pool.drain(1, true);
    assert.equal(pool.isSettled, true);
    answerLast(server);
    assert.equal(await answered, undefined);
    clock.advance(50);
    await settle();
    assert.deepEqual([server.stops, forgotten()], [[5_000], 0]);
  });

  test('is killed before the next launch, which fails its calls', async () => {
    const { clock, pool, types, launch } = open();
    const { server, started } = await launch(held);
    const failed = call(started.running.upstream);
    pool.drain(1, true);
    pool.hurryDraining();
    assert.equal(pool.isSettled, false);
    clock.advance(50);
    assert.match((await failed)?.message ?? '', /it was replaced because its config changed$/);
    await pool.over();
    assert.equal(server.isAlive, false);
    assert.deepEqual(types(), ['started', 'settled', 'settled']);
  });
});

describe('calls of a server whose channel has closed', () => {
  /** Returns the errors of calls that were reported by this time; `exited` may stay pending. */
  async function failing(exited: Promise<Exit>, ms: number) {
    const clock = createManualClock();
    const server = createAnswering({});
    const error = new Error('EPIPE');
    const closed = Promise.resolve({ reason: 'its output has ended', error });
    const told: unknown[] = [];
    const upstream = {
      ...openUpstream(server, clock),
      fail: (one: HubError) => void told.push(one.message),
    };
    const gone = (how: string, cause: unknown) =>
      new HubError('HUB_SERVER_DOWN', `${how}, because of ${String(cause)}`);
    const channel = { ...server.channel, closed };
    const over = failOnClose({ ...server, channel, exited }, upstream, clock, gone);
    await settle();
    clock.advance(ms);
    await settle();
    if (told.length > 0) await over;
    return { told, waiting: clock.waiting };
  }

  test('fail with its exit status', async () => {
    const exited = Promise.resolve({ code: 1, detail: 'exited with code 1' });
    assert.deepEqual(await failing(exited, 0), {
      told: ['exited with code 1, because of Error: EPIPE'],
      waiting: 0,
    });
  });

  test('fail with the reason of the channel if it has not exited a second later', async () => {
    const unknown = new Promise<Exit>(() => {});
    assert.deepEqual((await failing(unknown, 999)).told, []);
    assert.deepEqual((await failing(unknown, 1_000)).told, [
      'its output has ended, because of Error: EPIPE',
    ]);
  });
});
