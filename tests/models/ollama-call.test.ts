import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { startOllama } from '../doubles/ollama.ts';
import { asking, failureOf, kindOf, never, openModels, openStill, recoveryMs } from './scene.ts';
import { ModelFailure } from '#models';
import { type OllamaCall, createOllamaCaller } from '../../hub/models/ollama-call.ts';
import { type Answer, hang, linesOf, openScripted } from './scripted.ts';

describe('the breaker', () => {
  test('opens after three calls without an answer, and closes with one that has one', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
    for (let call = 1; call <= 3; call++)
      assert.equal(await kindOf(scene.models.complete(asking(), never)), 'unreachable');
    const asked = ollama.received().length;
    assert.equal(await kindOf(scene.models.complete(asking(), never)), 'breaker_open');
    assert.equal(ollama.received().length, asked);
    ollama.heals();
    await scene.models.list(never);
    const { status } = scene.models;
    assert.ok(status.kind === 'refused', `it is said to be ${status.kind}`);
    assert.match(status.error, /^Ollama failed too often and is tried again in 30 s; the last/);
    scene.clock.advance(recoveryMs);
    assert.equal(scene.models.status.kind, 'up');
    await scene.models.complete(asking(), never);
    assert.equal(scene.breaker.state, 'closed');
  });

  test('opens after three long silences, and not after short ones', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    ollama.fails('/api/chat', { kind: 'hang' });
    const silent = async (firstTokenMs: number) => {
      const before = ollama.received('/api/chat').length;
      const kind = kindOf(scene.models.complete(asking({ firstTokenMs }), never));
      await until(() => ollama.received('/api/chat').length > before, 'the request');
      scene.clock.advance(firstTokenMs);
      return await kind;
    };
    for (let call = 1; call <= 5; call++) assert.equal(await silent(400), 'timeout');
    assert.equal(scene.breaker.state, 'closed');
    for (let call = 1; call <= 3; call++) assert.equal(await silent(5_000), 'timeout');
    assert.equal(scene.breaker.state, 'open');
  });

  test('is not opened by what a model or a request is at fault for', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const error = { kind: 'error', status: 500, error: 'llama runner has terminated' } as const;
    ollama.fails('/api/chat', error);
    for (let call = 1; call <= 5; call++) {
      assert.equal(await kindOf(scene.models.complete(asking(), never)), 'refused');
      assert.equal(await kindOf(scene.models.complete(asking({ model: 'no' }), never)), 'missing');
    }
    assert.equal(scene.breaker.state, 'closed');
  });
});

/** A request that is never answered. `begun` resolves once it is sent. */
function openHanging() {
  const { promise: begun, resolve } = Promise.withResolvers<AbortSignal>();
  const scene = openScripted((_sent, signal) => {
    resolve(signal);
    return hang(signal);
  });
  return { ...scene, begun };
}

const listing: OllamaCall<unknown> = {
  subject: 'the list of models',
  isGated: true,
  run: client => client.list(),
};
const streaming: OllamaCall<void> = {
  subject: 'a pull',
  isGated: true,
  isStream: true,
  async run(client) {
    for await (const _ of await client.pull({ model: 'm', stream: true }));
  },
};

const causedBy = (name: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('it'), { name }) });
const broken = (text: string) =>
  new Response(
    new ReadableStream({
      pull(controller) {
        if (text === '') return controller.error(new Error('reset'));
        controller.enqueue(new TextEncoder().encode(text));
        text = '';
      },
    }),
  );

describe('the breaker and the health are told of a call', () => {
  test('that succeeds', async () => {
    const scene = openScripted(() => undefined);
    await scene.callOllama(listing, never);
    assert.deepEqual(scene.told, ['succeeded', 'heard']);
  });

  const outcomes: readonly (readonly [string, OllamaCall<unknown>, Answer, string[]])[] = [
    [
      'that finds no connection',
      listing,
      () => Promise.reject(causedBy('ECONNREFUSED')),
      ['unwell: unreachable', 'failed: Ollama did not answer: fetch failed: it'],
    ],
    [
      'whose headers do not come within the time of fetch',
      listing,
      () => Promise.reject(causedBy('HeadersTimeoutError')),
      ['unwell: timeout', 'cancelled'],
    ],
    [
      'to a full Ollama',
      listing,
      () => new Response('', { status: 503 }),
      ['unwell: busy', 'succeeded'],
    ],
    [
      'to a proxy without an Ollama',
      listing,
      () => new Response('<html>', { status: 502 }),
      [
        'unwell: unreachable',
        'failed: Ollama answered 502: an HTML page. Check OLLAMA_HOST and any proxy in front of it',
      ],
    ],
    [
      'for a model that is missing',
      listing,
      () => new Response('', { status: 404 }),
      ['unwell: missing', 'succeeded'],
    ],
    [
      'that is answered with a page',
      listing,
      () => new Response('<html>'),
      [
        'unwell: malformed',
        'failed: the answer is not JSON. Check that OLLAMA_HOST is an Ollama, and any proxy in front of it',
      ],
    ],
    [
      'that ends too early',
      streaming,
      () => linesOf({ status: 'x' }),
      ['unwell: cut', 'succeeded'],
    ],
    [
      'whose connection breaks',
      streaming,
      () => broken('{"status":"x"}\n'),
      ['unwell: cut', 'failed: the connection was lost in the middle of the answer'],
    ],
  ];

  test.each(outcomes)('%s', async (_what, call, answer, told) => {
    const scene = openScripted(answer);
    await failureOf(scene.callOllama(call, never));
    assert.deepEqual(scene.told, told);
  });

  test('that fails by a bug: only that it is over', async () => {
    const scene = openScripted(() => undefined);
    const bug = new RangeError('a bug');
    const call = { ...listing, run: () => Promise.reject(bug) };
    await assert.rejects(scene.callOllama(call, never), bug);
    assert.deepEqual(scene.told, ['cancelled']);
  });

  test('that the caller gives up, or the hub', async () => {
    for (const isHub of [false, true]) {
      const scene = openHanging();
      const caller = new AbortController();
      const failure = failureOf(scene.callOllama(listing, caller.signal));
      const signal = await scene.begun;
      if (isHub) scene.life.abort(new ModelFailure('cancelled', 'the hub stops'));
      else caller.abort(new Error('gone'));
      const { kind, message } = await failure;
      assert.deepEqual(
        [kind, message],
        ['cancelled', isHub ? 'the hub stops' : 'the call was cancelled'],
      );
      assert.ok(signal.aborted);
      assert.deepEqual(scene.told, ['unwell: cancelled', 'cancelled']);
    }
  });
});

describe('time', () => {
  test('that is up ends a request that has no answer', async () => {
    const scene = openHanging();
    const failure = failureOf(scene.callOllama({ ...listing, totalMs: 4_049.3 }, never));
    await scene.begun;
    scene.clock.advance(4_050);
    assert.equal((await failure).message, 'the list of models was not done within 4 s');
    assert.deepEqual(scene.told, ['unwell: timeout', 'cancelled']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('after which a silence counts against Ollama is five seconds', async () => {
    for (const [silentMs, verdict] of [
      [4_999, 'cancelled'],
      [5_000, 'failed: the list of models was silent for 5 s'],
    ] as const) {
      const scene = openHanging();
      const failure = failureOf(scene.callOllama({ ...listing, silentMs }, never));
      await scene.begun;
      scene.clock.advance(silentMs);
      assert.equal((await failure).kind, 'timeout');
      assert.equal(scene.told.at(-1), verdict);
    }
  });

  test('that a probe took counts against Ollama, however short it was', async () => {
    const scene = openScripted(() => undefined);
    const late = () => Promise.reject(new ModelFailure('timeout', 'no version'));
    const health = { ...scene.needs.health, requireAlive: late };
    const call = createOllamaCaller('http://ollama.test', { ...scene.needs, health });
    await failureOf(call(listing, never));
    assert.deepEqual(scene.told, ['unwell: timeout', 'failed: no version']);
    assert.deepEqual(scene.sent, []);
  });
});

test('a call past the breaker claims no permit, and has no say in it', async () => {
  const scene = openScripted(() => new Response('', { status: 502 }));
  await failureOf(scene.callOllama({ ...listing, isGated: false }, never));
  assert.deepEqual(scene.told, ['unwell: unreachable']);
});

test('an open breaker says when and why, and nothing is sent', async () => {
  const scene = openScripted(() => undefined);
  const refusal = { kind: 'refused', retryAfterMs: 1_001, why: 'reset' } as const;
  const breaker = { ...scene.needs.breaker, claim: () => refusal };
  const call = createOllamaCaller('http://ollama.test', { ...scene.needs, breaker });
  assert.equal(
    (await failureOf(call(listing, never))).message,
    'Ollama failed too often and is tried again in 2 s; the last time: reset',
  );
  assert.deepEqual([scene.sent, scene.told], [[], []]);
});
