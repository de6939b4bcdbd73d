import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { startOllama } from '../doubles/ollama.ts';
import {
  asking,
  createGate,
  failureOf,
  kindOf,
  never,
  openModels,
  openStill,
  recoveryMs,
} from './scene.ts';
import { ModelFailure } from '#models';
import { type OllamaCall, createOllamaCaller } from '../../hub/models/ollama-call.ts';
import { type Answer, hang, linesOf, openScripted } from './scripted.ts';

describe('the breaker', () => {
  test('opens after three prompts without an answer, and closes at the first response', async () => {
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
    assert.equal(scene.breaker.state, 'closed');
    assert.equal(scene.models.status.kind, 'up');
    await scene.models.complete(asking(), never);
  });

  test('closes when a periodic probe reaches Ollama, long before the end of its pause', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.start(never);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    await scene.models.list(never);
    await ollama.stop();
    const isOpen = async () => {
      await failureOf(scene.models.complete(asking(), never));
      return scene.breaker.state === 'open';
    };
    while (!(await isOpen()));
    await ollama.start();
    scene.clock.advance(2_000);
    await until(() => scene.breaker.state === 'closed', 'the breaker to close');
    assert.ok(scene.clock.monotonic() < recoveryMs);
  });

  test('counts the failed calls of one prompt once, and calls without a prompt not at all', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
    const { caller: _none, ...own } = asking();
    for (let call = 1; call <= 5; call++) await failureOf(scene.models.complete(own, never));
    assert.equal(scene.breaker.snapshot().failures, 0);
    for (let prompt = 1; prompt <= 3; prompt++) {
      assert.equal(scene.breaker.state, 'closed');
      const request = asking();
      for (let call = 1; call <= 3; call++) await failureOf(scene.models.complete(request, never));
      assert.equal(scene.breaker.snapshot().failures, prompt);
    }
    assert.equal(scene.breaker.state, 'open');
  });

  test('opens after three long silences, but not after short ones', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    // Each silence makes the next call more patient, until an answer. The call's own time limit ends it.
    const silent = async (totalMs: number) => {
      ollama.fails('/api/chat', { kind: 'hang' });
      const before = ollama.received('/api/chat').length;
      const request = asking({ firstTokenMs: totalMs, totalMs });
      const kind = kindOf(scene.models.complete(request, never));
      await until(() => ollama.received('/api/chat').length > before, 'the request');
      scene.clock.advance(totalMs);
      return await kind;
    };
    for (let call = 1; call <= 5; call++) assert.equal(await silent(600), 'timeout');
    assert.equal(scene.breaker.state, 'closed');
    for (let call = 1; call <= 3; call++) assert.equal(await silent(5_000), 'timeout');
    scene.clock.advance(5_000);
    assert.equal(scene.breaker.state, 'open');
    const { status } = scene.models;
    assert.ok(status.kind === 'refused', `it is said to be ${status.kind}`);
    assert.match(status.error, /^Ollama failed too often and is tried again in 25 s; the last/);
  });

  test('does not count a silence during which another call receives tokens', async () => {
    await using ollama = await startOllama({ models: ['llama3.2:3b', 'phi3:mini'] });
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    for (const model of ['llama3.2:3b', 'phi3:mini'])
      await scene.models.complete(asking({ model }), never);
    const gate = createGate();
    ollama.says('one two three four five six seven');
    ollama.fails('/api/chat', { kind: 'paced', before: gate.before }, 1);
    const pieces: string[] = [];
    const progress = (piece: string) => void pieces.push(piece);
    const talking = failureOf(
      scene.models.complete(asking({ progress, firstTokenMs: 40_000, totalMs: 300_000 }), never),
    );
    await until(() => pieces.length === 1, 'the first token');
    ollama.fails('/api/chat', { kind: 'hang' });
    for (let call = 1; call <= 3; call++) {
      const chats = ollama.received('/api/chat').length;
      const kind = kindOf(scene.models.complete(asking({ model: 'phi3:mini' }), never));
      await until(() => ollama.received('/api/chat').length > chats, 'the request');
      scene.clock.advance(1_000);
      gate.open();
      await until(() => pieces.length === call + 1, 'another token');
      scene.clock.advance(29_000);
      assert.equal(await kind, 'timeout');
    }
    assert.equal(scene.breaker.snapshot().failures, 0);
    ollama.heals();
    await scene.models.stop();
    await talking;
  });

  test('is not opened by errors of a model or a request', async () => {
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

/** Creates a call whose requests are never answered. `begun` resolves when one is sent. */
function openHanging() {
  const { promise: begun, resolve } = Promise.withResolvers<AbortSignal>();
  const scene = openScripted((_sent, signal) => {
    resolve(signal);
    return hang(signal);
  });
  return { ...scene, begun };
}

const caller = { client: 'tester' };
const listing: OllamaCall<unknown> = {
  subject: 'the list of models',
  caller,
  isGated: true,
  run: client => client.list(),
};
const streaming: OllamaCall<void> = {
  subject: 'a pull',
  caller,
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

describe('the breaker and the health learn of a call', () => {
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

  test('that fails by a bug: only its end', async () => {
    const scene = openScripted(() => undefined);
    const bug = new RangeError('a bug');
    const call = { ...listing, run: () => Promise.reject(bug) };
    await assert.rejects(scene.callOllama(call, never), bug);
    assert.deepEqual(scene.told, ['cancelled']);
  });

  test('that the caller or the hub aborts', async () => {
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

describe('a time limit', () => {
  test('that is exceeded ends a request without a response', async () => {
    const scene = openHanging();
    const failure = failureOf(scene.callOllama({ ...listing, totalMs: 4_049.3 }, never));
    await scene.begun;
    scene.clock.advance(4_050);
    assert.equal((await failure).message, 'the list of models was not done within 4 s');
    assert.deepEqual(scene.told, ['unwell: timeout', 'cancelled']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('of five seconds makes a silence count against Ollama', async () => {
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

  test('shorter than the patience does not count against Ollama', async () => {
    const scene = openHanging();
    const call = { ...listing, silentMs: 10_000, totalMs: 9_900 };
    const failure = failureOf(scene.callOllama(call, never));
    await scene.begun;
    scene.clock.advance(9_900);
    assert.equal((await failure).kind, 'timeout');
    assert.equal(scene.told.at(-1), 'cancelled');
  });

  test('exceeded by a probe counts against Ollama, however short it was', async () => {
    const scene = openScripted(() => undefined);
    const late = () => Promise.reject(new ModelFailure('timeout', 'no version'));
    const health = { ...scene.needs.health, requireAlive: late };
    const call = createOllamaCaller('http://ollama.test', { ...scene.needs, health });
    await failureOf(call(listing, never));
    assert.deepEqual(scene.told, ['unwell: timeout', 'failed: no version']);
    assert.deepEqual(scene.sent, []);
  });
});

test('a call that bypasses the breaker takes no permit, and does not affect it', async () => {
  const scene = openScripted(() => new Response('', { status: 502 }));
  await failureOf(scene.callOllama({ ...listing, isGated: false }, never));
  assert.deepEqual(scene.told, ['unwell: unreachable']);
});

test('an open breaker says when and why, and no request is sent', async () => {
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
