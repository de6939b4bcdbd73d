import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createCalls, wire } from '../../../../hub/runtimes/docker/engine/call.ts';
import { scriptEngine } from '../scripted-engine.ts';

const address = { text: 'unix:///engine', connect: { socketPath: '/no/such/engine.sock' } };
const open = () => {
  const clock = createManualClock();
  return { clock, ...createCalls(address, clock) };
};

/** Creates work that ends only when its signal aborts, like a request of dockerode. */
function silence() {
  const begun = Promise.withResolvers<AbortSignal>();
  const work = (_: unknown, signal: AbortSignal) => {
    begun.resolve(signal);
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  };
  return { begun: begun.promise, work };
}

describe('a call', () => {
  test.each([
    [30_000, undefined],
    [500, 500],
  ])('has %d ms if its limit is %s', async (limitMs, timeoutMs) => {
    const { call, clock } = open();
    const { begun, work } = silence();
    const made = call('do it', work, { timeoutMs });
    const signal = await begun;
    clock.advance(limitMs - 1);
    assert.equal(signal.aborted, false);
    clock.advance(1);
    await assert.rejects(made, {
      code: 'HUB_ENGINE_UNREACHABLE',
      message: `no Docker engine answers at unix:///engine: no answer within ${limitMs} ms. Check that Docker is not hanging (docker info)`,
    });
    assert.equal(signal.aborted, true);
    assert.equal(clock.waiting, 0);
  });

  test('that is aborted rejects with the reason of its caller', async () => {
    const { call } = open();
    const stopped = new HubError('HUB_SERVER_DOWN', 'stopped');
    for (const [reason, expected] of [
      [stopped, stopped],
      [
        undefined,
        { code: 'HUB_CALL_CANCELLED', message: 'cancelled before the engine could do it' },
      ],
    ] as const) {
      const ending = new AbortController();
      const { begun, work } = silence();
      const made = call('do it', work, { signal: ending.signal });
      await begun;
      ending.abort(reason);
      await assert.rejects(made, expected);
    }
  });

  test('has a signal that outlives it, for the stream that it opens', async () => {
    const { call, clock } = open();
    const ending = new AbortController();
    const signal = await call('open', async (_, given) => given, { signal: ending.signal });
    clock.advance(60_000);
    assert.equal(signal.aborted, false);
    ending.abort();
    assert.equal(signal.aborted, true);
  });

  test('that the engine refuses has the operation in its error', async () => {
    const body = { message: 'no room' };
    await using scene = await scriptEngine({ 'GET /version': { status: 500, body } });
    await assert.rejects(scene.engine.version(), {
      code: 'HUB_ENGINE_REFUSED',
      message: 'the Docker engine refused to tell its version: no room',
      status: 500,
    });
  });

  test('without a listening engine has that as its error', async () => {
    const { call } = open();
    await assert.rejects(
      call('do it', docker => docker.version()),
      { code: 'HUB_ENGINE_UNREACHABLE', message: /there is no such socket/ },
    );
  });
});

describe('a refusal', () => {
  const refuse = (status: number) => async () => {
    throw new Error(`(HTTP code ${status}) unexpected - no `);
  };
  test.each([
    ['find', 404, undefined],
    ['find', 403, 403],
    ['find', 409, 409],
    ['remove', 404, undefined],
    ['remove', 409, undefined],
    ['remove', 500, 500],
  ] as const)('of a %s with status %d: rejects with %s', async (kind, status, rejected) => {
    const made = open()[kind]('thing', refuse(status));
    if (rejected === undefined) assert.equal(await made, undefined);
    else await assert.rejects(made, { code: 'HUB_ENGINE_REFUSED', status: rejected });
  });
});

test('the list has the objects with a label', async () => {
  const { list } = open();
  const options = await list('things', 'a=b', async (_, given) => given.filters);
  assert.equal(options, '{"label":["a=b"]}');
});

test('the query and the body are separate parameters', () => {
  const { signal } = new AbortController();
  assert.deepEqual(wire(signal), { _query: {}, _body: {}, abortSignal: signal });
  assert.deepEqual(wire(signal, { a: 1 }, { b: 2 }), {
    _query: { a: 1 },
    _body: { b: 2 },
    abortSignal: signal,
  });
});
