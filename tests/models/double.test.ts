import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { until } from '../contracts/recorder.ts';
import { type OllamaDouble, embeddingOf, modelNamed, startOllama } from '../doubles/ollama.ts';
import { type Exchange, findDescription } from '../doubles/openapi.ts';

const description = findDescription('ollama.yaml');

type Ask = readonly [method: string, path: string, body?: object];

const messages = [{ role: 'user', content: 'say hello' }];
const [chatter, embedder] = ['llama3.2:3b', 'nomic-embed-text'];
const weather = { name: 'weather', arguments: { city: 'Rome' } };
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
const afterCall = [
  ...messages,
  { role: 'assistant', content: '', tool_calls: [{ function: weather }] },
  { role: 'tool', tool_name: 'weather', content: 'sunny' },
];

/** One request for each kind of answer of the double. */
const asks: readonly Ask[] = [
  ['GET', '/api/version'],
  ['GET', '/api/tags'],
  ['POST', '/api/show', { model: chatter }],
  ['POST', '/api/chat', { model: chatter, messages: [] }],
  ['POST', '/api/chat', { model: chatter, messages }],
  ['POST', '/api/chat', { model: chatter, messages, stream: false }],
  ['POST', '/api/chat', { model: chatter, messages: afterCall, tools }],
  ['POST', '/api/chat', { model: chatter, messages: afterCall, tools, stream: false }],
  ['POST', '/api/generate', { model: chatter }],
  ['POST', '/api/generate', { model: chatter, prompt: 'say hello' }],
  ['POST', '/api/generate', { model: chatter, prompt: 'say hello', stream: false }],
  ['POST', '/api/embed', { model: embedder, input: 'text' }],
  ['POST', '/api/embed', { model: embedder, input: ['one', 'two'], dimensions: 64 }],
  ['POST', '/api/embed', { model: embedder, input: '' }],
  ['GET', '/api/ps'],
  ['POST', '/api/pull', { model: 'phi3:mini' }],
  ['POST', '/api/pull', { model: 'phi3:mini', stream: false }],
];

async function ask(ollama: OllamaDouble, [method, path, body]: Ask): Promise<Response> {
  const sent = body ? { body: JSON.stringify(body) } : {};
  return await fetch(`${ollama.url}${path}`, { method, ...sent });
}

async function observed(asked: readonly Ask[]): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = [];
  await using ollama = await startOllama({ observe: exchange => void exchanges.push(exchange) });
  ollama.says({ text: 'Hello there', thinking: 'a greeting', toolCalls: [weather] });
  for (const one of asked) {
    const response = await ask(ollama, one);
    assert.equal(response.status, 200, `${one[0]} ${one[1]}`);
    await response.text();
  }
  return exchanges;
}

describe.skipIf(!description)("a double of Ollama, checked against Ollama's description", () => {
  test('matches the description in all requests and responses', async () => {
    for (const one of asks) {
      const [method, path] = one;
      const exchanges = await observed([one]);
      assert.ok(exchanges.some(({ status }) => status === 200));
      for (const exchange of exchanges) {
        const problems = description?.problems(exchange);
        assert.deepEqual(problems, [], `${method} ${path}: ${JSON.stringify(exchange.body)}`);
      }
    }
  });

  test('would fail with a wrong response', () => {
    const body = { model: chatter, created_at: 'yesterday', message: { role: 'user' }, done: 1 };
    const exchange = { method: 'POST', path: '/api/chat', status: 200, body };
    const type = 'application/json; charset=utf-8';
    assert.equal(description?.problems({ ...exchange, contentType: type })?.length, 3);
  });
});

describe('a double of Ollama', () => {
  test('streams a chat as lines, of which the last has the done reason and the counts', async () => {
    await using ollama = await startOllama();
    ollama.says('Hello there');
    const response = await ask(ollama, ['POST', '/api/chat', { model: chatter, messages }]);
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
    const lines = (await response.text()).trimEnd().split('\n');
    const parts = lines.map((line): { message: { content: string } } => JSON.parse(line));
    assert.deepEqual(
      parts.map(part => part.message.content),
      ['Hello ', 'there', ''],
    );
    assert.match(lines.at(-1) ?? '', /"done":true,"done_reason":"stop","total_duration":\d+/);
  });

  test('sends each tool call in a line of its own, and "stop" at the end', async () => {
    await using ollama = await startOllama();
    ollama.says({ text: 'One moment', toolCalls: [{ id: 'call_1', ...weather }, weather] });
    const body = { model: chatter, messages, tools };
    const response = await ask(ollama, ['POST', '/api/chat', body]);
    const lines = (await response.text()).trimEnd().split('\n');
    assert.equal(lines.length, 5);
    assert.match(
      lines[2] ?? '',
      /"tool_calls":\[{"id":"call_1","function":{"index":0,"name":"weather","arguments":{"city":"Rome"}}}\]},"done":false/,
    );
    assert.match(lines[3] ?? '', /"tool_calls":\[{"function":{"index":1,/);
    assert.match(lines[4] ?? '', /"done":true,"done_reason":"stop"/);
  });

  test('refuses a history with tool arguments that are not an object', async () => {
    await using ollama = await startOllama();
    const call = { function: { name: 'weather', arguments: '{"city":"Rome"}' } };
    const wrong = [...messages, { role: 'assistant', content: '', tool_calls: [call] }];
    const response = await ask(ollama, ['POST', '/api/chat', { model: chatter, messages: wrong }]);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /cannot unmarshal string/);
  });

  test('refuses with the messages of Ollama', async () => {
    await using ollama = await startOllama();
    ollama.add(modelNamed('toolless', { capabilities: ['completion'] }));
    const long = 'word '.repeat(3_000);
    const refused: readonly (readonly [Ask, number, string])[] = [
      [['POST', '/api/chat', { model: 'x', messages }], 404, "model 'x' not found"],
      [
        ['POST', '/api/chat', { model: embedder, messages }],
        400,
        '"nomic-embed-text:latest" does not support chat',
      ],
      [
        ['POST', '/api/chat', { model: 'toolless', messages, tools }],
        400,
        '"toolless:latest" does not support tools',
      ],
      [
        ['POST', '/api/embed', { model: embedder, input: long, truncate: false }],
        400,
        'the input length exceeds the context length',
      ],
      [
        ['POST', '/api/pull', { model: 'nothing', stream: false }],
        500,
        'pull model manifest: file does not exist',
      ],
    ];
    for (const [asked, status, error] of refused) {
      const response = await ask(ollama, asked);
      assert.equal(response.status, status);
      assert.deepEqual(await response.json(), { error });
    }
  });

  test('truncates a too long prompt silently, unless told not to', async () => {
    await using ollama = await startOllama();
    const input = 'word '.repeat(3_000);
    const response = await ask(ollama, ['POST', '/api/embed', { model: embedder, input }]);
    assert.match(await response.text(), /"prompt_eval_count":2048/);
  });

  test('returns vectors of length 1 that are close for texts with the same words', () => {
    const [a, b, c] = ['rename foo to bar', 'rename bar to foo', 'what is the weather'].map(text =>
      embeddingOf(text),
    );
    assert.equal(a?.length, 768);
    const dot = (other: readonly number[] = []) =>
      (a ?? []).reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
    assert.ok(Math.abs(dot(a) - 1) < 1e-9);
    assert.ok(dot(b) > 0.6 && dot(c) < 0.3, `${dot(b)} and ${dot(c)}`);
    assert.deepEqual(embeddingOf('rename foo to bar'), a);
  });

  test('is unreachable while it is stopped, and has the same address afterwards', async () => {
    await using ollama = await startOllama();
    await ollama.stop();
    await assert.rejects(ask(ollama, ['GET', '/api/version']));
    await ollama.start();
    assert.equal((await ask(ollama, ['GET', '/api/version'])).status, 200);
  });
});

describe('the model runners of a double', () => {
  const clock = createManualClock();
  const chat = async (ollama: OllamaDouble, options: object = {}, signal?: AbortSignal) => {
    const body = JSON.stringify({ model: chatter, messages, options });
    const response = await fetch(`${ollama.url}/api/chat`, {
      method: 'POST',
      body,
      ...(signal && { signal }),
    });
    return await response.text();
  };
  /** Waits for the next step of a runner, and advances the clock by its duration. */
  const step = async (ollama: OllamaDouble, works: number, milliseconds: number) => {
    await until(() => ollama.works === works, `step ${works}`);
    clock.advance(milliseconds);
  };

  test('work on one call at a time, while others wait', async () => {
    await using ollama = await startOllama({ times: { clock, lineMs: 1_000 } });
    ollama.says('word');
    let done = 0;
    const calls = [1, 2].map(async () => {
      assert.match(await chat(ollama), /"content":"word"/);
      done++;
    });
    for (const works of [1, 2]) await step(ollama, works, 1_000);
    await until(() => done === 1, 'the first answer');
    for (const works of [3, 4]) await step(ollama, works, 1_000);
    await Promise.all(calls);
  });

  test('read a prompt to its end even after its call was aborted', async () => {
    await using ollama = await startOllama({ times: { clock, promptTokenMs: 100 } });
    const gone = new AbortController();
    const given = assert.rejects(chat(ollama, {}, gone.signal));
    await until(() => ollama.works === 1, 'the prompt');
    gone.abort();
    await given;
    await until(() => ollama.received()[0]?.isAbandoned === true, 'the end of the request');
    const next = chat(ollama);
    await until(() => ollama.received().length === 2, 'the next request');
    assert.equal(ollama.works, 1);
    clock.advance(200);
    await step(ollama, 2, 200);
    assert.match(await next, /"prompt_eval_count":2,"prompt_eval_duration":200000000/);
  });

  test('reload a model with another num_ctx, or after another model if only one fits', async () => {
    await using ollama = await startOllama({ times: { clock, maxLoaded: 1 } });
    for (const num_ctx of [8192, 8192, 4096, 8192]) await chat(ollama, { num_ctx });
    assert.equal(ollama.loads, 3);
    await ask(ollama, ['POST', '/api/embed', { model: embedder, input: 'text' }]);
    assert.deepEqual([ollama.loads, ollama.isLoaded(chatter)], [4, false]);
    await chat(ollama, { num_ctx: 8192 });
    assert.equal(ollama.loads, 5);
  });
});
