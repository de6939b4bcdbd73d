import assert from 'node:assert/strict';
import { fastify } from 'fastify';
import { describe, test } from 'vitest';
import { isObject, silent, systemClock } from '#core';
import { until } from '#helpers/hub';
import { problemOf, statusOf } from '../../../hub/http/errors.ts';
import { ollamaRoutes } from '../../../hub/http/routes/ollama.ts';
import { busy, improvedOf } from '../../doubles/ollama.ts';
import { openScene } from '../../enhance/enhancer-scene.ts';
import { type Response, type Sent, send } from '../../transports/raw.ts';

const improved = improvedOf('make it good');
const json = { 'content-type': 'application/json' };

/** Serves the routes of Ollama alone, over a real enhancer. */
async function openRoutes(options: Parameters<typeof openScene>[0] = {}) {
  const scene = await openScene(options);
  const app = fastify();
  app.setErrorHandler((error, _request, reply) =>
    reply.code(statusOf(error)).send(problemOf(error)),
  );
  ollamaRoutes(app, {
    prompts: {
      open: async () => ({
        ...scene,
        missing: { check: async () => [] },
      }),
    },
    system: { clock: systemClock, log: silent, newId: () => 'id' },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = (path: string, sent: Sent = {}) => send(`${url}/ollama${path}`, sent);
  return {
    ...scene,
    ask,
    post: (
      body: object | string,
      headers: Readonly<Record<string, string>> = {},
      signal?: AbortSignal,
    ) =>
      ask('/enhance', {
        method: 'POST',
        headers: { ...json, ...headers },
        body,
        ...(signal && { signal }),
      }),
    async [Symbol.asyncDispose]() {
      await app.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}

const events = { accept: 'text/event-stream' };

/** Parses the events of a stream, in order. */
const eventsOf = (text: string) =>
  [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, data]) => {
    const value: unknown = JSON.parse(data ?? '');
    return { event, data: isObject(value) ? value : assert.fail(data) };
  });

const cacheHeaders = ({ headers }: Response) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-cache')));

async function errorOf(answer: Response): Promise<Readonly<Record<string, unknown>>> {
  const { error } = await answer.json();
  return isObject(error) ? error : assert.fail('it has no error');
}

describe('POST /ollama/enhance', () => {
  test('answers with the better prompt and its source', async () => {
    await using hub = await openRoutes({ clients: { editor: {} } });
    const first = await hub.post({ prompt: 'make it good' }, { 'x-client-name': 'Editor' });
    assert.equal(first.status, 200);
    const { took_ms, ...body } = await first.json();
    assert.equal(typeof took_ms, 'number');
    assert.deepEqual(body, {
      prompt: improved,
      enhanced: true,
      source: 'model',
      cache: 'MISS',
      model: 'llama3.2:3b',
      attempts: [],
      client: 'editor',
      rule: 'editor',
    });
    assert.deepEqual(cacheHeaders(first), { 'x-cache': 'MISS', 'x-cache-model': 'llama3.2:3b' });
    const second = await hub.post({ prompt: 'make it good' }, { 'x-client-name': 'editor' });
    assert.deepEqual(cacheHeaders(second), {
      'x-cache': 'HIT-L1',
      'x-cache-age': '0',
      'x-cache-model': 'llama3.2:3b',
    });
    const { source, age_ms } = await second.json();
    assert.equal(source, 'l1');
    assert.equal(typeof age_ms, 'number');
  });

  test('answers 200 with the unchanged prompt and the reason if Ollama fails', async () => {
    await using hub = await openRoutes({ fallbackChain: ['absent:1'] });
    await hub.models.list(AbortSignal.timeout(5_000));
    hub.ollama.fails('/api/chat', busy);
    const answer = await hub.post({ prompt: ' as it is\r\n' });
    assert.equal(answer.status, 200);
    const { prompt, enhanced, source, reason, attempts } = await answer.json();
    assert.deepEqual([prompt, enhanced, source], [' as it is\r\n', false, 'unchanged']);
    assert.match(String(reason), /server busy.*ollama pull absent:1/s);
    assert.ok(Array.isArray(attempts));
    assert.deepEqual(
      attempts.map(({ model, kind, took_ms }) => [model, kind, typeof took_ms]),
      [
        ['llama3.2:3b', 'busy', 'number'],
        ['absent:1', 'missing', 'number'],
      ],
    );
  });

  test('bypasses the caches with X-Cache-Bypass, and says if a rule is off', async () => {
    await using hub = await openRoutes({ clients: { off: { enabled: false } } });
    await (await hub.post({ prompt: 'p' })).body();
    for (const value of ['true', '1', 'TRUE']) {
      const answer = await hub.post({ prompt: 'p' }, { 'x-cache-bypass': value });
      assert.equal(answer.headers['x-cache'], 'BYPASS');
    }
    assert.equal(hub.asked().length, 4);
    assert.equal(
      (await hub.post({ prompt: 'p' }, { 'x-cache-bypass': 'false' })).headers['x-cache'],
      'HIT-L1',
    );
    assert.equal(
      (await hub.post({ prompt: 'p' }, { 'x-client-name': 'off' })).headers['x-cache'],
      'DISABLED',
    );
  });

  test('sends the text of the model as events if requested, and ends with the same answer', async () => {
    await using hub = await openRoutes({
      rule: { model: 'absent:1' },
      fallbackChain: ['phi3:mini'],
    });
    const answer = await hub.post({ prompt: 'p' }, events);
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/event-stream/);
    const all = eventsOf(await answer.body());
    const progress = all.filter(({ event }) => event === 'progress').map(({ data }) => data);
    assert.deepEqual(
      progress.slice(0, 2).map(({ step, model }) => [step, model]),
      [
        ['failed', 'absent:1'],
        ['model', 'phi3:mini'],
      ],
    );
    assert.equal(progress.map(({ text = '' }) => text).join(''), improvedOf('p'));
    const last = all.at(-1);
    assert.equal(last?.event, 'done');
    assert.deepEqual(
      [last.data['prompt'], last.data['source'], last.data['cache']],
      [improvedOf('p'), 'fallback', 'MISS'],
    );
  });

  test.each([
    ['{"prompt":', /Body is not valid JSON|JSON/],
    ['[]', /the body: write an object/],
    [{}, /prompt: is missing: write a string/],
    [{ prompt: 3 }, /prompt: 3 is not allowed: write a string/],
    [{ prompt: ' ' }, /prompt: must not be empty/],
    [{ prompt: 'p', promt: 'q' }, /"promt: is not a member of this body, which takes prompt"/],
    [{ prompt: 'p', ['x'.repeat(100)]: 'q' }, /"x{60}\.\.\.: is not a member of this body/],
  ] as const)('refuses %j with 400, whatever its Accept header', async (body, message) => {
    await using hub = await openRoutes();
    for (const headers of [{}, events]) {
      const answer = await hub.post(typeof body === 'string' ? body : { ...body }, headers);
      // Fastify refuses invalid JSON. The hub's own error handler, which this app lacks, answers 400 then.
      if (body === '{"prompt":') assert.notEqual(answer.status, 200);
      else assert.equal(answer.status, 400);
      assert.match(await answer.body(), message);
    }
    assert.deepEqual(hub.asked(), []);
  });

  test.each([
    [
      'x-client-name',
      '!',
      /X-Client-Name: \\"!\\" is not allowed: the name of a client has 1 to 64/,
    ],
    ['x-cache-bypass', 'maybe', /X-Cache-Bypass: \\"maybe\\" is not allowed: write true or false/],
  ])('refuses %s: %s with 400', async (name, value, message) => {
    await using hub = await openRoutes();
    const answer = await hub.post({ prompt: 'p' }, { [name]: value });
    assert.equal(answer.status, 400);
    assert.match(await answer.body(), message);
  });

  for (const headers of [{}, events])
    test(`is aborted when the client disconnects (${'accept' in headers ? 'events' : 'plain'})`, async () => {
      await using hub = await openRoutes({
        rule: { totalMs: 20_000, firstTokenMs: 10_000, loadMs: 10_000 },
      });
      const held = Promise.withResolvers<void>();
      hub.ollama.fails('/api/chat', { kind: 'slow', until: held.promise });
      const hangUp = new AbortController();
      const lost = hub
        .post({ prompt: 'one' }, headers, hangUp.signal)
        .then(answer => answer.body())
        .catch(() => 'lost');
      await until(() => hub.asked().length === 1);
      hangUp.abort();
      await lost;
      await until(() => hub.ollama.received('/api/chat')[0]?.isAbandoned === true);
      const { prompts } = await hub.enhancer.stats();
      assert.equal(prompts.running, 0);
      held.resolve();
      assert.equal((await hub.post({ prompt: 'one' })).headers['x-cache'], 'MISS');
    });
});

describe('models', () => {
  test('are listed by GET /ollama/models', async () => {
    await using hub = await openRoutes({ ollama: { models: ['phi3:mini'] } });
    const { models } = await (await hub.ask('/models')).json();
    assert.ok(Array.isArray(models));
    const [{ digest, ...model }] = models;
    assert.match(digest, /^[0-9a-f]{64}$/);
    assert.deepEqual(model, {
      name: 'phi3:mini',
      size_bytes: 2_019_393_189,
      is_loaded: false,
      capabilities: ['completion', 'tools'],
      trained_tokens: 4096,
    });
  });

  test('are pulled, with progress as events if requested', async () => {
    await using hub = await openRoutes({
      ollama: { models: ['llama3.2:3b'], pullable: ['phi3:mini', 'hf.co/some/model:q4'] },
    });
    const answer = await hub.ask('/models/phi3:mini/pull', { method: 'POST', headers: events });
    const all = eventsOf(await answer.body());
    assert.ok(all.some(({ event, data }) => event === 'progress' && 'total_bytes' in data));
    assert.deepEqual(all.at(-1), { event: 'done', data: { name: 'phi3:mini', status: 'success' } });
    const plain = await hub.ask('/models/hf.co%2Fsome%2Fmodel:q4/pull', { method: 'POST' });
    assert.deepEqual(await plain.json(), { name: 'hf.co/some/model:q4', status: 'success' });
  });

  test('that do not exist are 404, also in the last event', async () => {
    await using hub = await openRoutes();
    const plain = await hub.ask('/models/absent:1/pull', { method: 'POST' });
    assert.equal(plain.status, 404);
    const { code } = await errorOf(plain);
    assert.equal(code, 'HUB_MODEL_UNKNOWN');
    const all = eventsOf(
      await (await hub.ask('/models/absent:1/pull', { method: 'POST', headers: events })).body(),
    );
    const { error } = all.at(-1)?.data ?? {};
    assert.ok(isObject(error));
    assert.equal(error['code'], 'HUB_MODEL_UNKNOWN');
    assert.equal((await hub.ask('/models/a%20b/pull', { method: 'POST' })).status, 400);
  });

  test('are 503 without an Ollama, with a remedy', async () => {
    await using hub = await openRoutes({ url: undefined });
    const answer = await hub.ask('/models');
    assert.equal(answer.status, 503);
    const { code, message } = await errorOf(answer);
    assert.equal(code, 'HUB_OLLAMA_FAILED');
    assert.match(String(message), /OLLAMA_HOST/);
  });
});

describe('the caches of prompts', () => {
  test('are counted, forgotten by client, and forgotten completely', async () => {
    await using hub = await openRoutes();
    for (const client of ['one', 'two', 'three'])
      await (await hub.post({ prompt: 'p' }, { 'x-client-name': client })).body();
    const stats = await (await hub.ask('/cache/stats')).json();
    const { l1, l2, prompts } = stats;
    assert.ok(isObject(l1) && isObject(prompts));
    assert.deepEqual(
      [l1['backend'], l1['entries'], l1['max_entries'], l2],
      ['memory', 3, 1000, null],
    );
    assert.equal(prompts['requests'], 3);
    const forget = async (query: string) =>
      await (await hub.ask(`/cache${query}`, { method: 'DELETE' })).json();
    assert.deepEqual(await forget('?client=One'), { client: 'One', removed: { l1: 1, l2: 0 } });
    assert.deepEqual(await forget(''), { client: null, removed: { l1: 2, l2: 0 } });
  });

  test('are explained for a prompt', async () => {
    await using hub = await openRoutes();
    const explain = async () =>
      await (await hub.ask('/cache/explain?prompt=make%20it&client=one')).json();
    const { l1, ...before } = await explain();
    assert.ok(isObject(l1) && l1['age_ms'] === undefined);
    assert.match(String(before['digest']), /^[0-9a-f]{64}$/);
    assert.deepEqual(
      [before['client'], before['rule'], before['model']],
      ['one', 'default', 'llama3.2:3b'],
    );
    await (await hub.post({ prompt: 'make it' }, { 'x-client-name': 'one' })).body();
    const after = await explain();
    assert.ok(isObject(after['l1']) && typeof after['l1']['age_ms'] === 'number');
  });

  test.each([
    ['GET', '/cache/explain', /prompt: is missing/],
    ['GET', '/cache/explain?prompt=a&prompt=b', /prompt: stands twice/],
    [
      'GET',
      '/cache/explain?prompt=a&who=b',
      /who: is not a parameter of .*explain, which takes prompt and client/,
    ],
    ['DELETE', '/cache?clients=a', /clients: is not a parameter of .*cache, which takes client/],
    ['DELETE', '/cache?client=!', /client: \\"!\\" is not allowed/],
  ])('refuse %s %s with 400', async (method, path, message) => {
    await using hub = await openRoutes();
    const answer = await hub.ask(path, { method });
    assert.equal(answer.status, 400);
    assert.match(await answer.body(), message);
  });
});
