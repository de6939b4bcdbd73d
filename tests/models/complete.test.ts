import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { until } from '../contracts/recorder.ts';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { asking, failureOf, kindOf, never, openModels } from './scene.ts';
import { complete } from '../../hub/models/complete.ts';
import { hang, linesOf, openScripted } from './scripted.ts';

describe('the request for a completion', () => {
  test('has the whole prompt, with truncation off, the given options and no thinking', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    await scene.models.complete(
      asking({ system: 'S', prompt: ' P\n', options: { num_ctx: 512, temperature: 0.5 } }),
      never,
    );
    assert.deepEqual(ollama.received('/api/chat')[0]?.body, {
      model: 'llama3.2:3b',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: ' P\n' },
      ],
      options: { num_ctx: 512, temperature: 0.5 },
      think: false,
      keep_alive: '30m',
      truncate: false,
      shift: false,
      stream: true,
    });
  });

  test('has thinking on if an option says so', async () => {
    await using ollama = await startOllama({ models: [] });
    ollama.add(modelNamed('deepseek-r1:14b', { capabilities: ['completion', 'thinking'] }));
    await using scene = openModels(ollama.url);
    await scene.models.complete(
      asking({ model: 'deepseek-r1:14b', system: undefined, options: { think: true } }),
      never,
    );
    const body = ollama.received('/api/chat')[0]?.body;
    assert.deepEqual([body?.['think'], body?.['options']], [true, {}]);
    assert.deepEqual(body?.['messages'], [{ role: 'user', content: 'make it better' }]);
  });
});

const saying = (...lines: readonly object[]) =>
  openScripted(({ path }) => (path === '/api/chat' ? linesOf(...lines) : undefined));
const chunk = (content: string, more: object = {}) => ({ message: { content, ...more } });
const done = { message: {}, done: true };

describe('an answer', () => {
  const request = asking({ model: 'chat' });

  test("has its text, the model's full name, and the counts of its last line", async () => {
    const counts = { prompt_eval_count: 7, eval_count: 2 };
    const scene = saying(chunk(' better'), chunk(' prompt\n'), { ...done, ...counts });
    const pieces: string[] = [];
    const progress = (piece: string) => void pieces.push(piece);
    assert.deepEqual(await complete({ ...request, progress }, never, scene), {
      text: 'better prompt',
      model: 'chat:latest',
      digest: 'c',
      tookMs: 0,
      promptTokens: 7,
      outputTokens: 2,
    });
    assert.equal(pieces.join('').trim(), 'better prompt');
    assert.equal(scene.modelList.cached('chat')?.isLoaded, true);
  });

  test('without counts, and with unknown lines, is accepted', async () => {
    const scene = saying({ message: 'x' }, {}, chunk('better'), { ...done, eval_count: '2' });
    const { text, promptTokens, outputTokens } = await complete(request, never, scene);
    assert.deepEqual([text, promptTokens, outputTokens], ['better', undefined, undefined]);
  });

  test('with impossible counts has no counts', async () => {
    const counts = { prompt_eval_count: -1_000_000, eval_count: 0.5 };
    const { promptTokens, outputTokens } = await complete(
      request,
      never,
      saying(chunk('better'), { ...done, ...counts }),
    );
    assert.deepEqual([promptTokens, outputTokens], [undefined, undefined]);
  });

  test('of more than a million characters is cut off', async () => {
    const line = chunk('x'.repeat(250_001));
    const failure = await failureOf(complete(request, never, saying(...Array(4).fill(line), done)));
    assert.equal(failure.kind, 'cut');
    assert.match(failure.message, /more than 1000000 characters/);
  });

  test.for([
    [[chunk('', { thinking: 'hm' }), done], 'thinking_only'],
    [[chunk('', { thinking: 'hm' }), { ...done, done_reason: 'length' }], 'thinking_only'],
    [[chunk('bet'), { ...done, done_reason: 'length' }], 'cut'],
    [[{ ...done, done_reason: 'length' }], 'cut'],
    [[done], 'empty'],
  ] as const)('of %j is not a text: %s', async ([lines, kind]) => {
    const failure = await failureOf(complete(request, never, saying(...lines)));
    assert.deepEqual([failure.kind, failure.model], [kind, 'chat:latest']);
  });

  test('of a model that was removed causes a new list for the next call', async () => {
    const gone = () => Response.json({ error: 'model not found' }, { status: 404 });
    const scene = openScripted(({ path }) => (path === '/api/chat' ? gone() : undefined));
    for (const _ of [1, 2]) assert.equal(await kindOf(complete(request, never, scene)), 'missing');
    assert.equal(scene.sent.filter(({ path }) => path === '/api/tags').length, 2);
  });

  test('has a time limit that includes the list of models', async () => {
    const asked = Promise.withResolvers<void>();
    const scene = openScripted((_sent, signal) => {
      asked.resolve();
      return hang(signal);
    });
    const failure = failureOf(complete({ ...request, totalMs: 3_234.5 }, never, scene));
    await asked.promise;
    scene.clock.advance(3_235);
    assert.match((await failure).message, /^chat was not done within 3.2 s$/);
  });
});

test('a schema is sent as the format of the answer', async () => {
  const scene = saying(chunk('{}'), done);
  const format = { type: 'object' };
  await complete(asking({ model: 'chat', format }), never, scene);
  assert.deepEqual(scene.sent.at(-1)?.body['format'], format);
});

test('a call after an aborted one gets the additional time in which Ollama still reads that prompt', async () => {
  const clock = createManualClock();
  await using ollama = await startOllama({ times: { clock, promptTokenMs: 10 } });
  await using scene = openModels(ollama.url, clock);
  // The model reads each prompt in 20 s.
  const patience = { firstTokenMs: 21_000, totalMs: 120_000 };
  const long = asking({ system: undefined, prompt: 'a '.repeat(2_000), ...patience });
  const read = async (works: number) => {
    await until(() => ollama.works === works, `prompt ${works}`);
    clock.advance(20_000);
  };
  const first = scene.models.complete(long, never);
  await read(1);
  await first;
  const gone = new AbortController();
  const second = kindOf(scene.models.complete(long, gone.signal));
  await until(() => ollama.works === 2, 'the second prompt');
  gone.abort();
  assert.equal(await second, 'cancelled');
  const third = scene.models.complete(long, never);
  await until(() => ollama.received('/api/chat').length === 3, 'the third request');
  for (const works of [2, 3]) await read(works);
  assert.equal((await third).promptTokens, 2_000);
});

test('a call that was aborted before Ollama was known to be up does not affect the pace', async () => {
  const scene = openScripted(() => undefined);
  await scene.modelList.get('chat', never);
  const long = asking({ model: 'chat', system: undefined, prompt: 'a '.repeat(2_000) });
  const patienceMs = () => scene.paces.patienceMs('chat:latest', long.prompt.length, 1_000, false);
  const usualMs = patienceMs();
  const probed = Promise.withResolvers<void>();
  scene.needs.health.requireAlive = signal => {
    probed.resolve();
    return hang(signal);
  };
  const gone = new AbortController();
  const given = kindOf(complete(long, gone.signal, scene));
  await probed.promise;
  gone.abort();
  assert.equal(await given, 'cancelled');
  assert.equal(patienceMs(), usualMs);
});
