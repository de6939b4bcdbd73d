import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { freePort } from '#helpers/port';
import { createModelCounts } from '#models';
import { createBreaker } from '#resilience';
import { until } from '../../contracts/recorder.ts';
import { type OpenAiReply, startOpenAi } from '../../doubles/openai.ts';
import { failureOf, kindOf, never } from '../scene.ts';
import type { ChatLimits, ChatRequest } from '../../../hub/models/chat/chat-types.ts';
import { listModels } from '../../../hub/models/providers/list-models.ts';
import { createProvider } from '../../../hub/models/providers/provider.ts';

const key = 'sk-very-secret-key';
const weather = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object' },
};

const chatting = (made: Partial<ChatRequest> = {}) => ({
  model: 'work/gpt-x',
  system: undefined,
  messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'How is it?' }] }],
  tools: [],
  toolChoice: 'auto' as const,
  maxTokens: undefined,
  temperature: undefined,
  stopSequences: [],
  caller: { client: 'tester' },
  silentMs: 10_000,
  totalMs: 30_000,
  ...made,
});

/** Creates a provider `work` at a URL, with a key. */
function at(
  url: string,
  { clock = systemClock, key: given = key, keyFault = '', parallel = 8 } = {},
) {
  const counts = createModelCounts();
  const breaker = createBreaker(
    { failureThreshold: 3, recoveryMs: 30_000, trialMs: 60_000 },
    clock,
  );
  let ids = 0;
  const settings = {
    url,
    key: keyFault === '' ? given : undefined,
    keyFault: keyFault || undefined,
    parallel,
  };
  const needs = { clock, fetch, breaker, counts, newId: () => `made_${++ids}`, life: never };
  const provider = createProvider('work', settings, needs);
  return {
    counts,
    models: () => provider.models(never),
    chat: (made: Partial<ChatRequest & ChatLimits> = {}, signal = never) =>
      provider.chat(chatting(made), 'gpt-x', signal),
    [Symbol.dispose]: () => breaker[Symbol.dispose](),
  };
}

/** Returns the failure of a chat with an endpoint that gives this reply. */
async function failing(reply: OpenAiReply) {
  await using endpoint = await startOpenAi(() => reply);
  using work = at(endpoint.url);
  const failure = await failureOf(work.chat());
  assert.deepEqual(work.counts.all()[0]?.failures, { [failure.kind]: 1 });
  return failure;
}

describe('a chat with a provider', () => {
  test('streams its text and ends with usage', async () => {
    await using endpoint = await startOpenAi(() => '<think>hm</think>It is fine.', { key });
    using work = at(endpoint.url);
    const pieces: string[] = [];
    const answer = await work.chat({ progress: text => void pieces.push(text) });
    assert.deepEqual(
      { ...answer, tookMs: 0 },
      {
        model: 'work/gpt-x',
        content: [{ type: 'text', text: 'It is fine.' }],
        stopReason: 'endTurn',
        usage: { inputTokens: 11, outputTokens: 7 },
        tookMs: 0,
      },
    );
    assert.equal(pieces.join(''), 'It is fine.');
    const [counts] = work.counts.all();
    assert.deepEqual(
      [counts?.model, counts?.callers, counts?.firstTokens.count],
      ['work/gpt-x', [{ caller: 'prompt', succeeded: 1, promptTokens: 11, outputTokens: 7 }], 1],
    );
  });

  test('sends the history, the tools and the options in the format of the API', async () => {
    await using endpoint = await startOpenAi(() => ({
      toolCalls: [{ id: 'b', name: 'weather', arguments: ['{}'] }],
    }));
    using work = at(endpoint.url);
    await work.chat({
      system: 'Be brief.',
      messages: [
        ...chatting().messages,
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', toolUseId: 'a', text: 'unknown', isError: true }],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Sorry.' }] },
        ...chatting().messages,
      ],
      tools: [weather],
      toolChoice: 'required',
      maxTokens: 50,
      temperature: 0,
      stopSequences: ['END'],
    });
    const [request] = endpoint.received();
    assert.equal(request?.headers.authorization, `Bearer ${key}`);
    const user = { role: 'user', content: 'How is it?' };
    assert.deepEqual(request?.body, {
      model: 'gpt-x',
      messages: [
        { role: 'system', content: 'Be brief.' },
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'a',
              type: 'function',
              function: { name: 'weather', arguments: '{"city":"Rome"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'Error: unknown' },
        { role: 'assistant', content: 'Sorry.' },
        user,
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Tells the weather.',
            parameters: { type: 'object' },
          },
        },
      ],
      tool_choice: 'required',
      max_tokens: 50,
      temperature: 0,
      stop: ['END'],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('assembles fragments of tool calls', async () => {
    const toolCalls = [
      { id: 'a', name: 'weather', arguments: ['{"ci', 'ty":"Ro', 'me"}'] },
      { id: 'a', name: 'weather', arguments: [] },
      { id: '', name: 'weather', arguments: ['[1]'] },
    ];
    for (const isStream of [true, false]) {
      await using endpoint = await startOpenAi(() => ({ text: 'Wait.', toolCalls, isStream }));
      using work = at(endpoint.url);
      const { content, stopReason } = await work.chat({ tools: [weather] });
      assert.equal(stopReason, 'toolUse');
      const used = { type: 'tool_use', name: 'weather' };
      assert.deepEqual(content, [
        { type: 'text', text: 'Wait.' },
        { ...used, id: 'a', input: { city: 'Rome' } },
        { ...used, id: 'made_1', input: {} },
        { ...used, id: 'made_2', input: { arguments: '[1]' } },
      ]);
    }
  });

  test.for([undefined, 0])('separates calls that all have the index %s', async index => {
    const call = (id: string, text: string) =>
      JSON.stringify({
        choices: [
          {
            delta: {
              tool_calls: [
                { ...(id && { id }), index, function: { name: id && 'weather', arguments: text } },
              ],
            },
          },
        ],
      });
    const end = JSON.stringify({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] });
    await using endpoint = await startOpenAi(() => ({
      events: [call('a', '{"x"'), call('', ':1}'), call('b', '{}'), end],
    }));
    using work = at(endpoint.url);
    const { content } = await work.chat({ tools: [weather] });
    assert.deepEqual(
      content.map(block => (block.type === 'tool_use' ? [block.id, block.input] : block)),
      [
        ['a', { x: 1 }],
        ['b', {}],
      ],
    );
  });

  test('may be cut off without failing, and its usage is estimated if it is omitted', async () => {
    await using endpoint = await startOpenAi(() => ({
      text: 'one two',
      finishReason: 'length',
      hasUsage: false,
    }));
    using work = at(endpoint.url);
    const { content, stopReason, usage } = await work.chat();
    assert.deepEqual([content, stopReason], [[{ type: 'text', text: 'one two' }], 'maxTokens']);
    assert.ok(usage.inputTokens > 5 && usage.outputTokens > 3);
  });

  const whole = (message: object, finish: object = { finish_reason: 'stop' }) =>
    JSON.stringify({ choices: [{ index: 0, message, ...finish }] });
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'Fine.' },
  ];
  test.for([
    ['Application/JSON; charset=UTF-8', whole({ content: 'Fine.' }), 'endTurn'],
    ['application/json', whole({ content: 'Fine.' }, { finish_reason: null }), 'endTurn'],
    ['application/json', whole({ content: 'Fine.' }, {}), 'endTurn'],
    ['application/json', whole({ content: parts }), 'endTurn'],
    [
      'application/json',
      whole({ content: 'Fine.' }, { finish_reason: 'model_length' }),
      'maxTokens',
    ],
  ] as const)('reads an answer of type %s: %s', async ([type, raw, reason]) => {
    await using endpoint = await startOpenAi(() => ({
      status: 200,
      raw,
      headers: { 'content-type': type },
    }));
    using work = at(endpoint.url);
    const { content, stopReason } = await work.chat();
    assert.deepEqual([content, stopReason], [[{ type: 'text', text: 'Fine.' }], reason]);
  });

  test('that is cut off before a complete part says so', async () => {
    const toolCalls = [{ id: 'a', name: 'weather', arguments: ['{"ci'] }];
    await using endpoint = await startOpenAi(() => ({ toolCalls, finishReason: 'length' }));
    using work = at(endpoint.url);
    const { kind, message } = await failureOf(work.chat({ tools: [weather], maxTokens: 5 }));
    assert.equal(kind, 'refused');
    assert.match(message, /^work\/gpt-x used up its 5 tokens before it said anything whole/);
  });

  test('omits or renames parameters that the endpoint refuses, from then on', async () => {
    const refuse = (message: string): OpenAiReply => ({
      status: 400,
      raw: JSON.stringify({ error: { message } }),
    });
    await using endpoint = await startOpenAi(({ body }) => {
      if (body['max_tokens'] !== undefined) return refuse("Use 'max_completion_tokens' instead.");
      return body['stream_options'] ? refuse('unknown field stream_options') : 'fine';
    });
    using work = at(endpoint.url);
    for (const _ of [1, 2]) await work.chat({ maxTokens: 5 });
    const all = endpoint.received();
    assert.equal(all.length, 4);
    assert.equal(all[3]?.body['max_completion_tokens'], 5);
  });

  test('sends no second request after an error that it cannot correct', async () => {
    await using endpoint = await startOpenAi(() => ({
      status: 400,
      raw: '{"error":{"message":"max_completion_tokens and stream_options are wrong"}}',
    }));
    using work = at(endpoint.url);
    assert.equal(await kindOf(work.chat()), 'refused');
    assert.equal(endpoint.received().length, 3);
  });
});

test('a model that must call a tool and calls none fails, as some endpoints ignore the choice', async () => {
  await using endpoint = await startOpenAi(() => 'I would rather not');
  using work = at(endpoint.url);
  const { kind, message } = await failureOf(
    work.chat({ tools: [weather], toolChoice: 'required' }),
  );
  assert.deepEqual([kind, message], ['refused', 'work/gpt-x called no tool, although it had to']);
});

describe('an error of a provider', () => {
  const json = (error: object) => JSON.stringify({ error });
  const quota = json({ message: 'You exceeded your quota', type: 'insufficient_quota' });
  const long = json({ message: 'too long', code: 'context_length_exceeded' });
  const llama = json({ code: 400, message: 'the request exceeds the available context size' });
  test.for([
    [
      401,
      json({ message: `bad key ${key}` }),
      'unauthorized',
      /^work answered 401: bad key \*\*\*\. Check models\.providers\.work\.key/,
    ],
    [403, '{}', 'unauthorized', /^work answered 403\. Check models\.providers\.work\.key/],
    [
      404,
      '<html>',
      'missing',
      /^work answered 404: an HTML page\. Check the name of the model.*work\.url/,
    ],
    [
      429,
      json({ message: 'Slow down.' }),
      'busy',
      /^work answered 429: Slow down\. It is overloaded/,
    ],
    [
      429,
      quota,
      'refused',
      /^work answered 429: You exceeded your quota\. Check the request and the account/,
    ],
    [503, 'busy', 'busy', /^work answered 503: busy\. /],
    [
      500,
      '',
      'unreachable',
      /^work answered 500\. Try again later, and check models\.providers\.work\.url/,
    ],
    [400, long, 'too_long', /Shorten the conversation/],
    [400, llama, 'too_long', /exceeds the available context size/],
    [400, json({ message: 'x'.repeat(1_000) }), 'refused', /x{300}\.\.\./],
    [422, '[{"error":{"message":"of a list"}}]', 'refused', /of a list/],
  ] as const)('with status $0 is $2: $3', async ([status, raw, kind, words]) => {
    const { kind: found, message } = await failing({ status, raw });
    assert.equal(found, kind, message);
    assert.match(message, words);
    assert.ok(!message.includes(key));
  });

  test('has the time of Retry-After', async () => {
    const { retryAfterMs, message } = await failing({
      status: 429,
      raw: '',
      headers: { 'retry-after': '7' },
    });
    assert.equal(retryAfterMs, 7_000);
    assert.equal(
      message,
      'work answered 429. It is overloaded, or its rate limit is reached. Try again in 7 s',
    );
  });

  test.for([
    ['Sun, 15 Jun 2025 15:07:40 GMT', 60_000],
    ['Sun, 15 Jun 2025 15:00:00 GMT', undefined],
    ['soon', undefined],
    ['-5', undefined],
  ] as const)('has the time of Retry-After as %j', async ([written, expected]) => {
    await using endpoint = await startOpenAi(() => ({
      status: 429,
      raw: '',
      headers: { 'retry-after': written },
    }));
    // The manual clock starts at 2025-06-15T15:06:40Z.
    using work = at(endpoint.url, { clock: createManualClock() });
    const { retryAfterMs } = await failureOf(work.chat());
    assert.equal(retryAfterMs, expected);
  });

  const text = JSON.stringify({ choices: [{ delta: { content: 'Hel' } }] });
  test.for([
    [
      { events: [text, json({ message: 'overloaded', code: 503 })] },
      'busy',
      /stopped with an error: overloaded/,
    ],
    [{ events: [text, json({ message: 'crashed', code: 500 })] }, 'unreachable', /crashed/],
    [
      { status: 200, raw: json({ message: 'Slow down', type: 'rate_limit_error', code: null }) },
      'busy',
      /^work stopped with an error: Slow down\. It is overloaded/,
    ],
    [{ events: [json({ message: 'Slow down', code: '429' })] }, 'busy', /overloaded/],
    [{ events: [json({ message: 'Wrong', code: 'invalid_api_key' })] }, 'unauthorized', /Check/],
    // A code of the provider itself is no status.
    [{ events: [json({ message: 'No credit', code: '1113' })] }, 'refused', /account/],
    [
      { events: [json({ message: 'Slow', code: 1302, type: 'rate_limit_error' })] },
      'busy',
      /overloaded/,
    ],
    [{ events: [json({ message: 'No x', code: 'model_not_found' })] }, 'missing', /Check the name/],
    [
      {
        events: [
          text,
          '{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}',
        ],
      },
      'unreachable',
      /^work stopped with an error: gone\. Try again later/,
    ],
    [
      { events: [text, '{"choices":[{"delta":{},"finish_reason":"error"}]}'] },
      'unreachable',
      /^work stopped with an error\. Try again later/,
    ],
    [
      { status: 200, raw: '{"choices":[]}' },
      'malformed',
      /no completion\. .*work\.url is the base/,
    ],
    [{ status: 200, raw: '{"message":"Welcome"}' }, 'malformed', /no completion/],
    [
      { status: 200, raw: '<html>', headers: { 'content-type': 'text/html' } },
      'malformed',
      /no completion/,
    ],
    [
      { status: 200, raw: '{"choices":[{"message":{"content":[{"type":"thinking"}]}}]}' },
      'thinking_only',
      /thoughts only/,
    ],
    [{ events: [text] }, 'cut', /ended before it was complete/],
    [{ status: 200, raw: text }, 'cut', /ended before it was complete/],
    [{ events: [text], isReset: true }, 'cut', /was lost in the middle/],
    [{ events: ['nothing'] }, 'malformed', /not a JSON object.*work\.url is the base/],
    [{ events: [`"${'x'.repeat(1_100_000)}"`] }, 'malformed', /too long/],
    [{ status: 200, raw: 'hello' }, 'malformed', /not a JSON object/],
    [{ text: '' }, 'empty', /gave an empty answer/],
    [{ text: '', finishReason: 'content_filter' }, 'refused', /content filter/],
    [{ text: '<think>hm</think>' }, 'thinking_only', /thoughts only/],
    [{ toolCalls: [{ id: 'a', name: '', arguments: [] }] }, 'malformed', /without naming it/],
    [
      {
        events: [
          '{"choices":[{"delta":{"content":"","function_call":{"name":"weather","arguments":""}}}]}',
          '{"choices":[{"delta":{"function_call":{"arguments":"{}"}}}]}',
          '{"choices":[{"delta":{},"finish_reason":"function_call"}]}',
        ],
      },
      'malformed',
      /^work answered with "function_call", an earlier form of "tool_calls".*models\.providers\.work\.url/,
    ],
    [
      {
        status: 200,
        raw: '{"choices":[{"message":{"content":"I look.","function_call":{"name":"weather"}}}]}',
      },
      'malformed',
      /answered with "function_call"/,
    ],
    [
      { status: 302, raw: '', headers: { location: 'http://127.0.0.1:1/' } },
      'unreachable',
      /redirect/,
    ],
  ] as const)('in a response: $1, $2', async ([reply, kind, words]) => {
    const failure = await failing(reply);
    assert.equal(failure.kind, kind, failure.message);
    assert.match(failure.message, words);
  });

  test('is none if a legacy call stands beside the current one, or is empty', async () => {
    const called = { id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } };
    for (const message of [
      { content: null, tool_calls: [called], function_call: called.function },
      { content: 'fine', function_call: null },
      { content: 'fine', function_call: { name: '', arguments: '' } },
    ]) {
      const raw = JSON.stringify({ choices: [{ message }] });
      await using endpoint = await startOpenAi(() => ({ status: 200, raw }));
      using work = at(endpoint.url);
      const { content } = await work.chat({ tools: [weather] });
      assert.equal(content[0]?.type, message.content === null ? 'tool_use' : 'text');
    }
  });

  test('names the setting if nothing answers', async () => {
    using work = at(`http://127.0.0.1:${await freePort()}/v1`);
    const { kind, message } = await failureOf(work.chat());
    assert.equal(kind, 'unreachable');
    assert.match(
      message,
      /^work did not answer: .*ECONNREFUSED.*Check models\.providers\.work\.url$/,
    );
    for (const _ of [1, 2]) await failureOf(work.chat());
    const open = await failureOf(work.chat());
    assert.equal(open.kind, 'breaker_open');
    assert.ok((open.retryAfterMs ?? 0) > 29_000);
  });

  test('is returned without a request if the key cannot be read', async () => {
    await using endpoint = await startOpenAi(() => 'fine');
    using work = at(endpoint.url, { keyFault: 'secret WORK_KEY is not set' });
    const { kind, message } = await failureOf(work.chat());
    assert.deepEqual(
      [kind, message],
      ['unauthorized', 'models.providers.work.key: secret WORK_KEY is not set'],
    );
    assert.equal(endpoint.received().length, 0);
  });

  test.for(['sk-one\nsk-two', 'sk-\u200babc', 'sk-abc\0'])(
    'about the invalid key %j does not quote it',
    async given => {
      await using endpoint = await startOpenAi(() => 'fine');
      using work = at(endpoint.url, { key: given });
      for (const ask of [() => work.chat(), () => work.models()]) {
        const { kind, message } = await failureOf(ask());
        assert.deepEqual(
          [kind, message],
          [
            'unauthorized',
            'models.providers.work.key: it has a line break, or another character that cannot be sent. Correct it',
          ],
        );
      }
      assert.equal(endpoint.received().length, 0);
    },
  );

  test('is not caused by line breaks at the end of a key', async () => {
    await using endpoint = await startOpenAi(() => 'fine', { key });
    using work = at(endpoint.url, { key: `${key}\n` });
    await work.chat();
    assert.equal(endpoint.received()[0]?.headers.authorization, `Bearer ${key}`);
  });
});

test('a chat that is cancelled ends at once, and closes the connection', async () => {
  await using endpoint = await startOpenAi(() => new Promise(() => {}));
  using work = at(endpoint.url);
  const gone = new AbortController();
  const failed = kindOf(work.chat({}, gone.signal));
  await until(() => endpoint.received().length === 1, 'the request');
  gone.abort();
  assert.equal(await failed, 'cancelled');
  await until(() => endpoint.received()[0]?.isAbandoned === true, 'the end of the request');
});

test('a silent endpoint is abandoned after its time limit', async () => {
  const clock = createManualClock();
  await using endpoint = await startOpenAi(() => new Promise(() => {}));
  using work = at(endpoint.url, { clock });
  const silent = failureOf(work.chat({ silentMs: 5_000 }));
  await until(() => endpoint.received().length === 1, 'the request');
  clock.advance(5_000);
  assert.equal((await silent).message, 'work/gpt-x was silent for 5 s');
  const late = failureOf(work.chat({ silentMs: 60_000 }));
  await until(() => endpoint.received().length === 2, 'the request');
  clock.advance(30_000);
  assert.equal((await late).message, 'work/gpt-x was not done within 30 s');
  const set = failureOf(work.chat({ silentMs: 60_000, totalSetting: '"models.timeout_seconds"' }));
  await until(() => endpoint.received().length === 3, 'the request');
  clock.advance(30_000);
  const message = 'work/gpt-x was not done within 30 s. Raise "models.timeout_seconds"';
  assert.equal((await set).message, message);
});

test('calls of a model wait for those in progress', async () => {
  const gate = Promise.withResolvers<string>();
  await using endpoint = await startOpenAi(() => gate.promise);
  using work = at(endpoint.url, { parallel: 2 });
  const all = [1, 2, 3].map(() => work.chat());
  await until(() => endpoint.received().length === 2, 'two requests');
  gate.resolve('fine');
  await Promise.all(all);
  assert.equal(endpoint.received().length, 3);
  assert.equal(work.counts.all()[0]?.waits.count, 3);
});

test('a call whose time ends in the queue says so: no request was sent, and a retry may succeed', async () => {
  const clock = createManualClock();
  await using endpoint = await startOpenAi(() => new Promise(() => {}));
  using work = at(endpoint.url, { clock, parallel: 1 });
  const first = kindOf(work.chat({ silentMs: 60_000 }));
  await until(() => endpoint.received().length === 1, 'the request');
  clock.advance(10_000);
  const waiting = failureOf(work.chat({ silentMs: 60_000, totalMs: 15_000 }));
  clock.advance(15_000);
  const { kind, message } = await waiting;
  assert.deepEqual([kind, message], ['queue', 'it waited 15 s for 1 prompt before it']);
  assert.deepEqual(work.counts.all()[0]?.failures, { queue: 1 });
  clock.advance(5_000);
  assert.equal(await first, 'timeout');
});

describe('the models of a provider', () => {
  test('are listed with its key', async () => {
    await using endpoint = await startOpenAi(() => '', { key, models: ['a', 'org/b'] });
    using provider = at(endpoint.url);
    assert.deepEqual(await provider.models(), ['a', 'org/b']);
    assert.equal(endpoint.received()[0]?.path, '/v1/models');
  });

  test('fail with a reason for a refused key, a wrong address and a missing secret', async () => {
    await using endpoint = await startOpenAi(() => '', { key: 'another' });
    using refused = at(endpoint.url);
    assert.equal(await kindOf(refused.models()), 'unauthorized');
    using wrong = at(`${endpoint.url}/nowhere`);
    assert.equal(await kindOf(wrong.models()), 'missing');
    using gone = at(`http://127.0.0.1:${await freePort()}`);
    assert.equal(await kindOf(gone.models()), 'unreachable');
    using faulty = at(endpoint.url, { keyFault: 'it is not set' });
    assert.match((await failureOf(faulty.models())).message, /it is not set/);
  });
});

test('models that cannot be listed have the error of an answer with status 200', async () => {
  const answer = new Response('{"error":{"message":"No credits","code":402}}');
  const settings = { url: 'http://127.0.0.1', key: undefined, keyFault: undefined };
  const needs = { provider: 'work', settings, clock: systemClock, fetch: async () => answer };
  const { kind, message } = await failureOf(listModels(needs, never));
  assert.equal(kind, 'refused');
  assert.match(message, /^work stopped with an error: No credits\./);
});

test('a llama-server whose template ignores tools is asked once, and then calls are refused in advance', async () => {
  await using api = await startOpenAi(({ path }) =>
    path === '/v1/chat/completions'
      ? {
          status: 200,
          headers: { server: 'llama.cpp', 'content-type': 'text/event-stream' },
          raw: 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n',
        }
      : {
          status: 200,
          headers: { 'content-length': '47' },
          raw: '{"chat_template_caps":{"supports_tools":false}}',
        },
  );
  using work = at(api.url);
  const withTools = { tools: [weather] };
  const cannot = { kind: 'refused', message: /work\/gpt-x cannot call tools/ };
  await assert.rejects(work.chat(withTools), cannot);
  await assert.rejects(work.chat(withTools), cannot);
  const paths = api.received().map(({ path }) => path);
  assert.deepEqual(paths, ['/v1/chat/completions', '/props', '/props']);
  // The model can still chat without tools.
  assert.deepEqual((await work.chat()).content, [{ type: 'text', text: 'hi' }]);
});
