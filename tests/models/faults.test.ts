import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, test, vi } from 'vitest';
import type { FailureKind } from '#models';
import { until } from '../contracts/recorder.ts';
import { type Fault, type OllamaDouble, type Reply, busy, startOllama } from '../doubles/ollama.ts';
import { asking, createGate, failureOf, kindOf, never, openModels, openStill } from './scene.ts';

let ollama: OllamaDouble;
beforeAll(async () => {
  ollama = await startOllama();
});
beforeEach(() => {
  ollama.heals();
  ollama.says('A better prompt, in several words: ünïcödé.');
});
afterAll(async () => await ollama?.[Symbol.asyncDispose]());

const tooLongSince030 = JSON.stringify({
  error: {
    code: 400,
    message: 'request (2622 tokens) exceeds the available context size (512 tokens)',
    type: 'exceed_context_size_error',
  },
});

const faults: readonly (readonly [what: string, fault: Fault, kind: FailureKind])[] = [
  ['a connection reset before the answer', { kind: 'reset', afterLines: 0 }, 'unreachable'],
  ['a connection reset in the middle', { kind: 'reset', afterLines: 2 }, 'cut'],
  ['an answer that ends too early', { kind: 'cut', afterLines: 2 }, 'cut'],
  ['an answer of nothing', { kind: 'cut', afterLines: 0 }, 'malformed'],
  ['a line that is not JSON', { kind: 'invalid_line', afterLines: 2 }, 'malformed'],
  ['a page of a proxy, as an error', { kind: 'html', status: 502 }, 'unreachable'],
  ['a page of a proxy, as success', { kind: 'html', status: 200 }, 'malformed'],
  ['a full queue', busy, 'busy'],
  ['a model that is gone', { kind: 'error', status: 404, error: "model 'x' not found" }, 'missing'],
  [
    'a model that cannot chat',
    { kind: 'error', status: 400, error: '"x" does not support chat' },
    'refused',
  ],
  [
    'a prompt too long, since 0.30',
    { kind: 'error', status: 400, error: tooLongSince030 },
    'too_long',
  ],
  [
    'a runner that died',
    { kind: 'error', status: 500, error: 'llama runner process has terminated' },
    'refused',
  ],
  [
    'an error in the middle',
    { kind: 'error_mid_stream', afterLines: 2, error: 'unexpected EOF' },
    'refused',
  ],
];

const replies: readonly (readonly [what: string, reply: Reply, kind: FailureKind])[] = [
  ['nothing', { text: '' }, 'empty'],
  ['white space', { text: ' \n ' }, 'empty'],
  ['thoughts only', { text: '', thinking: 'let me see' }, 'thinking_only'],
  ['thoughts in tags only', { text: '<think>let me see</think>' }, 'thinking_only'],
  ['thoughts up to the limit', { text: '<think>let me', doneReason: 'length' }, 'thinking_only'],
  ['text up to the limit', { text: 'A better', doneReason: 'length' }, 'cut'],
];

describe('a completion ends with its kind of failure', () => {
  for (const [what, fault, kind] of faults)
    test(`at ${what}: ${kind}`, async () => {
      await using scene = openModels(ollama.url);
      ollama.fails('/api/chat', fault);
      const failure = await failureOf(scene.models.complete(asking(), never));
      assert.equal(failure.kind, kind, failure.message);
      assert.equal(failure.model, 'llama3.2:3b');
      assert.ok(failure.message.length < 400 && !failure.message.includes('make it better'));
      ollama.heals();
      assert.match((await scene.models.complete(asking(), never)).text, /better prompt/);
    });

  for (const [what, reply, kind] of replies)
    test(`at an answer of ${what}: ${kind}`, async () => {
      await using scene = openModels(ollama.url);
      ollama.says(reply);
      assert.equal(await kindOf(scene.models.complete(asking(), never)), kind);
      assert.equal(scene.breaker.snapshot().failures, 0, 'the breaker has nothing to do with it');
    });

  test('at a useless answer, after which the model counts as loaded', async () => {
    await using fresh = await startOllama();
    await using scene = openModels(fresh.url);
    fresh.says({ text: '' });
    assert.ok((await scene.models.list(never)).every(({ isLoaded }) => !isLoaded));
    assert.equal(await kindOf(scene.models.complete(asking(), never)), 'empty');
    const loaded = (await scene.models.list(never)).filter(({ isLoaded }) => isLoaded);
    assert.deepEqual(
      loaded.map(({ name }) => name),
      ['llama3.2:3b'],
    );
  });

  test('if nothing listens: unreachable', async () => {
    await using away = await startOllama();
    await away.stop();
    await using scene = openModels(away.url);
    const failure = await failureOf(scene.models.complete(asking(), never));
    assert.equal(failure.kind, 'unreachable');
    assert.match(failure.message, /ECONNREFUSED.*OLLAMA_HOST/);
  });
});

describe('a redirect of Ollama takes no prompt elsewhere', () => {
  for (const [path, status] of [
    ['/api/chat', 307],
    ['/api/chat', 302],
    ['/api/tags', 308],
  ] as const)
    test(`of ${path} with ${status}`, async () => {
      await using other = await startOllama();
      await using scene = openModels(ollama.url);
      ollama.fails(path, { kind: 'redirect', status, to: `${other.url}${path}` });
      const { kind, message } = await failureOf(scene.models.complete(asking(), never));
      assert.equal(kind, 'malformed');
      assert.equal(
        message,
        `the answer is a redirect to ${other.url}${path}. Check that OLLAMA_HOST is an Ollama, and any proxy in front of it`,
      );
      assert.deepEqual(other.received(), []);
    });
});

describe('a completion is complete', () => {
  test('if every byte arrives separately', async () => {
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'byte_by_byte' });
    const { text } = await scene.models.complete(asking(), never);
    assert.equal(text, 'A better prompt, in several words: ünïcödé.');
  });

  test('if Ollama omits all optional fields', async () => {
    await using scene = openModels(ollama.url);
    ollama.says({ text: 'A prompt', hasCounts: false });
    const done = await scene.models.complete(asking(), never);
    assert.deepEqual(
      [done.text, done.promptTokens, done.outputTokens],
      ['A prompt', undefined, undefined],
    );
  });

  test('without its thoughts', async () => {
    await using scene = openModels(ollama.url);
    ollama.says({ text: '<think>hm</think>\nA prompt', thinking: 'let me see' });
    assert.equal((await scene.models.complete(asking(), never)).text, 'A prompt');
  });
});

describe('a silence of Ollama ends a call', () => {
  const chatsAfter = async (count: number) =>
    await until(() => ollama.received('/api/chat').length > count, 'the request');

  test('before the first token, and the connection is closed', async () => {
    await using scene = openStill(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    const before = ollama.received('/api/chat').length;
    const failure = failureOf(scene.models.complete(asking(), never));
    await chatsAfter(before);
    scene.clock.advance(9_999);
    assert.equal(ollama.received('/api/chat').at(-1)?.isAbandoned, false);
    scene.clock.advance(1);
    const { kind, message } = await failure;
    assert.deepEqual([kind, message], ['timeout', 'llama3.2:3b was silent for 10 s']);
    await until(() => ollama.received('/api/chat').at(-1)?.isAbandoned === true, 'a free Ollama');
  });

  test('between two tokens, before the total time is over', async () => {
    await using scene = openStill(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang_mid_stream', afterLines: 2 });
    const pieces: string[] = [];
    const progress = (piece: string) => void pieces.push(piece);
    const request = asking({ progress, firstTokenSetting: '"timeouts.first_token"' });
    const failure = failureOf(scene.models.complete(request, never));
    await until(() => pieces.length === 2, 'two tokens');
    scene.clock.advance(10_000);
    const { kind, message } = await failure;
    assert.equal(kind, 'timeout');
    assert.equal(message, 'llama3.2:3b was silent for 10 s. Raise "timeouts.first_token"');
    await until(() => ollama.received('/api/chat').at(-1)?.isAbandoned === true, 'a free Ollama');
  });

  test('except if each token arrives in time, however many there are', async () => {
    await using scene = openStill(ollama.url);
    ollama.says('one two three four five six');
    const gate = createGate();
    ollama.fails('/api/chat', { kind: 'paced', before: gate.before });
    const heard: string[] = [];
    const progress = (piece: string) => {
      heard.push(piece);
      scene.clock.advance(9_000);
      gate.open();
    };
    const done = scene.models.complete(asking({ progress, totalMs: 300_000 }), never);
    assert.equal((await done).tookMs, 54_000);
    assert.equal(heard.length, 6);
  });

  test('at the total time, however long the limit for the first token is', async () => {
    await using scene = openStill(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    const before = ollama.received('/api/chat').length;
    const patient = asking({ firstTokenMs: 90_000, totalMs: 30_000 });
    const failure = failureOf(scene.models.complete(patient, never));
    await chatsAfter(before);
    scene.clock.advance(30_000);
    assert.match((await failure).message, /was not done within 30 s/);
  });

  test('after a second if even the version request gets no response', async () => {
    await using scene = openStill(ollama.url);
    ollama.fails('*', { kind: 'hang' });
    const before = ollama.received('/api/version').length;
    const failure = failureOf(scene.models.complete(asking(), never));
    await until(() => ollama.received('/api/version').length > before, 'the request');
    scene.clock.advance(1_000);
    assert.equal((await failure).kind, 'timeout');
    assert.equal(scene.models.status.kind, 'down');
  });

  test('after ten seconds for an embedding', async () => {
    await using scene = openStill(ollama.url);
    ollama.fails('/api/embed', { kind: 'hang' });
    const before = ollama.received('/api/embed').length;
    const failure = failureOf(scene.models.embed('nomic-embed-text', 'text', never));
    await until(() => ollama.received('/api/embed').length > before, 'the request');
    scene.clock.advance(10_000);
    assert.equal((await failure).kind, 'timeout');
    // The last request is the load that follows.
    await until(() => ollama.received('/api/embed')[before]?.isAbandoned === true, 'its end');
  });

  test('but not while a model is being loaded within its time', async () => {
    await using scene = openStill(ollama.url);
    const { promise, resolve } = Promise.withResolvers<void>();
    ollama.fails('/api/chat', { kind: 'slow', until: promise });
    const before = ollama.received('/api/chat').length;
    const done = scene.models.complete(asking(), never);
    await chatsAfter(before);
    scene.clock.advance(9_000);
    resolve();
    assert.equal((await done).tookMs, 9_000);
  });
});

describe('an abort', () => {
  test('ends one request and no other, and closes its connection', async () => {
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' }, 1);
    const before = ollama.received('/api/chat').length;
    const controller = new AbortController();
    const given = kindOf(scene.models.complete(asking(), controller.signal));
    await until(() => ollama.received('/api/chat').length > before, 'the request');
    const other = scene.models.complete(asking(), never);
    controller.abort(new Error('the client has gone'));
    assert.equal(await given, 'cancelled');
    assert.match((await other).text, /better prompt/);
    const abandoned = () =>
      ollama
        .received('/api/chat')
        .slice(before)
        .filter(one => one.isAbandoned);
    await until(() => abandoned().length === 1, 'one abandoned request');
  });

  test('before the start sends no request', async () => {
    await using scene = openModels(ollama.url);
    const before = ollama.received().length;
    assert.equal(await kindOf(scene.models.complete(asking(), AbortSignal.abort())), 'cancelled');
    assert.equal(ollama.received().length, before);
  });

  test('a stop of the hub ends all calls', async () => {
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    const before = ollama.received('/api/chat').length;
    const calls = [1, 2, 3].map(async () => await kindOf(scene.models.complete(asking(), never)));
    // One call is under way, and two wait in the queue.
    await until(() => ollama.received('/api/chat').length === before + 1, 'the request');
    await until(() => scene.models.metrics().queues[0]?.waiting === 2, 'the queue');
    await scene.models.stop();
    assert.deepEqual(await Promise.all(calls), ['cancelled', 'cancelled', 'cancelled']);
  });
});

describe('whatever Ollama answers', () => {
  test('nothing is printed, as stdout belongs to the protocol', async () => {
    const printed = (['log', 'info', 'warn', 'error'] as const).map(method =>
      vi.spyOn(console, method).mockImplementation(() => {}),
    );
    const written = vi.spyOn(process.stdout, 'write');
    try {
      await using scene = openModels(ollama.url);
      for (const [, fault] of faults) {
        ollama.fails('/api/chat', fault, 1);
        await failureOf(scene.models.complete(asking(), never));
        scene.breaker.reset();
      }
      for (const spy of printed) assert.deepEqual(spy.mock.calls, []);
      assert.deepEqual(written.mock.calls, []);
    } finally {
      vi.restoreAllMocks();
    }
  });

  test('a completion ends with its last line, and a connection that stays open is closed', async () => {
    await using scene = openStill(ollama.url);
    ollama.says('two words');
    ollama.fails('/api/chat', { kind: 'hang_mid_stream', afterLines: 3 });
    assert.equal((await scene.models.complete(asking(), never)).text, 'two words');
    assert.equal(ollama.received('/api/chat').at(-1)?.isAbandoned, false);
    scene.clock.advance(1_000);
    await until(() => ollama.received('/api/chat').at(-1)?.isAbandoned === true, 'its end');
  });

  test('the connection is reused after a response', async () => {
    await using scene = openModels(ollama.url);
    const before = ollama.received('/api/chat').length;
    for (let call = 1; call <= 5; call++) await scene.models.complete(asking(), never);
    const ports = ollama.received('/api/chat').map(({ clientPort }) => clientPort);
    // The end of the last answer may still be in transit when the next request is sent.
    assert.ok(new Set(ports.slice(before)).size <= 2, ports.slice(before).join(' '));
  });
});
