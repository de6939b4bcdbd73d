import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'vitest';
import { type Fault, busy } from '../doubles/ollama.ts';
import { openScene } from './enhancer-scene.ts';
import { quick } from './rules-of.ts';

/** Time by which a result may be late on a busy machine, in ms. */
const lateMs = 500;

/** Returns a URL on this machine where nothing listens. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

type Kind = string;
/** Faults of Ollama's answers at a path, with the kinds of the failed attempts and the reason in the result. */
const faults: readonly (readonly [string, string, Fault, readonly Kind[], RegExp])[] = [
  ['hangs before it says what it has', '/api/tags', { kind: 'hang' }, ['timeout'], /within/],
  ['hangs from the first call on', '*', { kind: 'hang' }, ['timeout'], /within 1 s/],
  ['hangs before the headers', '/api/chat', { kind: 'hang' }, ['timeout', 'timeout'], /silent/],
  [
    'hangs in the middle',
    '/api/chat',
    { kind: 'hang_mid_stream', afterLines: 2 },
    ['timeout', 'timeout'],
    /silent/,
  ],
  [
    'ends in the middle',
    '/api/chat',
    { kind: 'cut', afterLines: 2 },
    ['cut', 'cut'],
    /llama3.2:3b: .*phi3:mini: /,
  ],
  [
    'loses the connection in the middle',
    '/api/chat',
    { kind: 'reset', afterLines: 2 },
    ['cut', 'cut'],
    /llama3.2:3b: .*phi3:mini: /,
  ],
  [
    'loses the connection at once',
    '/api/chat',
    { kind: 'reset', afterLines: 0 },
    ['unreachable', 'unreachable'],
    /did not answer/,
  ],
  ['is a page behind a proxy', '*', { kind: 'html', status: 502 }, ['unreachable'], /502/],
  ['is a page', '*', { kind: 'html', status: 200 }, ['malformed'], /no Ollama|OLLAMA_HOST/],
  [
    'answers a page to a prompt',
    '/api/chat',
    { kind: 'html', status: 200 },
    ['malformed', 'malformed'],
    /llama3.2:3b: /,
  ],
  [
    'writes what is not JSON',
    '/api/chat',
    { kind: 'invalid_line', afterLines: 1 },
    ['malformed', 'malformed'],
    /llama3.2:3b: /,
  ],
  [
    'does not find the model after all',
    '/api/chat',
    { kind: 'error', status: 404, error: "model 'llama3.2:3b' not found" },
    ['missing', 'missing'],
    /"ollama pull llama3.2:3b".*"ollama pull phi3:mini"/,
  ],
  ['is busy', '/api/chat', busy, ['busy', 'busy'], /server busy/],
  [
    'fails by itself',
    '/api/chat',
    { kind: 'error', status: 500, error: 'llama runner process has terminated' },
    ['refused', 'refused'],
    /runner process has terminated/,
  ],
  [
    'fails in the middle',
    '/api/chat',
    { kind: 'error_mid_stream', afterLines: 1, error: 'an error was encountered' },
    ['refused', 'refused'],
    /an error was encountered/,
  ],
];

describe('with an Ollama that', () => {
  test.each(faults)(
    '%s, the prompt is returned in time with the reason',
    async (_what, path, fault, kinds, why) => {
      await using scene = await openScene({ fallbackChain: ['phi3:mini'] });
      if (path === '/api/chat') await scene.models.list(AbortSignal.timeout(5_000));
      scene.ollama.fails(path, fault);
      const prompt = 'as it came\r\n';
      const done = await scene.enhance(prompt);
      assert.equal(done.prompt, prompt);
      assert.deepEqual([done.enhanced, done.source, done.cache], [false, 'unchanged', 'miss']);
      assert.deepEqual(
        done.attempts.map(({ kind }) => kind),
        kinds,
      );
      assert.match(done.reason ?? '', why);
      assert.ok(done.tookMs < quick.totalMs + lateMs, `${done.tookMs} ms`);
      // No failed answer was cached.
      scene.ollama.heals();
      assert.equal((await scene.exact.stats()).entries, 0);
    },
  );

  test('is absent, the prompt is returned at once with the reason', async () => {
    await using scene = await openScene({ url: await deadUrl(), fallbackChain: ['phi3:mini'] });
    const done = await scene.enhance('one');
    assert.deepEqual([done.prompt, done.source], ['one', 'unchanged']);
    assert.match(done.reason ?? '', /Ollama cannot be reached at http:.*Start it/);
    assert.deepEqual(
      done.attempts.map(({ model, kind }) => [model, kind]),
      [['llama3.2:3b', 'unreachable']],
    );
    assert.ok(done.tookMs < 1_000 + lateMs, `${done.tookMs} ms`);
  });

  test('accepts connections and sends nothing, the prompt is returned with the reason', async () => {
    const sockets = new Set<{ destroy(): void }>();
    const silentServer = createServer(socket => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const address = silentServer.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    await using scene = await openScene({ url: `http://127.0.0.1:${port}` });
    const done = await scene.enhance('one');
    assert.deepEqual([done.prompt, done.source], ['one', 'unchanged']);
    assert.equal(done.attempts[0]?.kind, 'timeout');
    assert.ok(done.tookMs < quick.totalMs + lateMs, `${done.tookMs} ms`);
    for (const socket of sockets) socket.destroy();
    silentServer.close();
  });

  test('is turned off in the settings, the prompt is returned with the setting to change', async () => {
    await using scene = await openScene({ url: undefined });
    const done = await scene.enhance('one');
    assert.deepEqual([done.prompt, done.source, done.attempts], ['one', 'unchanged', []]);
    assert.match(done.reason ?? '', /OLLAMA_HOST/);
  });

  test('has recovered, prompts are improved again, which is logged once', async () => {
    await using scene = await openScene();
    await scene.models.list(AbortSignal.timeout(5_000));
    scene.ollama.fails('/api/chat', busy);
    await scene.enhance('one');
    await scene.enhance('two');
    scene.ollama.heals();
    assert.equal((await scene.enhance('one')).source, 'model');
    const told = scene.logged.map(({ message }) => message);
    assert.equal(told.filter(message => message.startsWith('no model answers')).length, 1);
    assert.equal(told.filter(message => message === 'prompts are improved again').length, 1);
  });
});

describe('whatever happens', () => {
  test('the prompt is returned at its deadline, with the reason known by then', async () => {
    await using scene = await openScene({
      rule: { totalMs: 1_000, firstTokenMs: 60_000, loadMs: 60_000 },
      fallbackChain: ['phi3:mini'],
    });
    scene.ollama.fails('/api/chat', { kind: 'hang' });
    const done = await scene.enhance('one');
    assert.equal(done.prompt, 'one');
    assert.equal(done.attempts[0]?.kind, 'timeout');
    assert.ok(done.tookMs < 1_000 + lateMs, `${done.tookMs} ms`);
  });

  test.each([
    ['never answers', () => new Promise<never>(() => {})],
    ['throws', () => Promise.reject(new Error('no cache today'))],
  ])('a cache that %s does not exceed the time limit of the rule', async (_what, getOrFill) => {
    const none = async () => undefined;
    await using scene = await openScene({
      rule: { totalMs: 1_000 },
      exact: {
        start: none,
        stop: none,
        hit: () => undefined,
        getOrFill,
        peek: none,
        forget: async () => 0,
        stats: () => Promise.reject(new Error('none')),
      },
    });
    const done = await scene.enhance('one');
    assert.deepEqual([done.prompt, done.source], ['one', 'unchanged']);
    assert.match(done.reason ?? '', /within 1 s|no cache today/);
    assert.ok(done.tookMs < 1_000 + lateMs, `${done.tookMs} ms`);
  });

  test('a cache entry of another program is not used as a prompt', async () => {
    await using scene = await openScene();
    const { exact } = await scene.enhancer.explain('one', undefined, AbortSignal.timeout(5_000));
    for (const value of ['hello', '{"kind":"made","prompt":3}', '[]', '{"kind":"other"}']) {
      await scene.exact.forget();
      await scene.exact.getOrFill(
        exact.key,
        { tag: 'default', ttlMs: 60_000 },
        async () => ({ value, isKept: true }),
        AbortSignal.timeout(5_000),
      );
      assert.equal((await scene.enhance('one')).source, 'model');
    }
  });
});
