import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelNamed } from '../../doubles/ollama.ts';
import { findDescription, type Exchange } from '../../doubles/openapi.ts';
import { type Script, startScriptedOllama } from '../../doubles/scripted-model.ts';
import { createManualClock } from '#helpers/clock';
import { until } from '../../contracts/recorder.ts';
import { failureOf, kindOf, never, openModels } from '../scene.ts';
import { linesOf, openScripted } from '../scripted.ts';
import { type OllamaChatRequest, chatOnOllama } from '../../../hub/models/chat/ollama-chat.ts';

const weather = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
};
const call = { name: 'weather', arguments: { city: 'Rome' } };

let ids = 0;
const chatting = (made: Partial<OllamaChatRequest> = {}): OllamaChatRequest => ({
  model: 'scripted:1b',
  system: undefined,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'How is the weather?' }] }],
  tools: [],
  toolChoice: 'auto',
  maxTokens: undefined,
  temperature: undefined,
  stopSequences: [],
  caller: { client: 'tester' },
  silentMs: 10_000,
  totalMs: 30_000,
  contextTokens: 4096,
  newId: () => `made_${++ids}`,
  ...made,
});

async function open(script: Script) {
  const exchanges: Exchange[] = [];
  const stack = new AsyncDisposableStack();
  const ollama = stack.use(
    await startScriptedOllama({ script, observe: exchange => void exchanges.push(exchange) }),
  );
  const { models } = stack.use(openModels(ollama.url));
  return {
    ollama,
    models,
    exchanges,
    sent: () => ollama.received('/api/chat').map(({ body }) => body),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('a chat', () => {
  test('streams its text and ends with usage', async () => {
    await using scene = await open(() => ({ text: 'It is sunny.', thinking: 'hm' }));
    const pieces: string[] = [];
    const answer = await scene.models.chat(
      chatting({ progress: text => void pieces.push(text) }),
      never,
    );
    assert.deepEqual(
      { ...answer, tookMs: 0 },
      {
        loadMs: 101.397084,
        promptMs: 13.074791,
        model: 'scripted:1b',
        content: [{ type: 'text', text: 'It is sunny.' }],
        stopReason: 'endTurn',
        usage: { inputTokens: 4, outputTokens: 3 },
        tookMs: 0,
      },
    );
    assert.deepEqual(pieces, ['It ', 'is ', 'sunny.']);
    const [counts] = scene.models.metrics().models;
    assert.deepEqual(counts?.callers, [
      { caller: 'prompt', succeeded: 1, promptTokens: 4, outputTokens: 3 },
    ]);
  });

  test('sends the history, the tools and the options in the format of Ollama', async () => {
    await using scene = await open(() => 'It is sunny.');
    await scene.models.chat(
      chatting({
        system: 'Be brief.',
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Weather in Rome and Oslo?' }] },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'One moment.' },
              { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } },
              { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Oslo' } },
              { type: 'tool_use', id: 'c', name: 'weather', input: { city: 'X' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', toolUseId: 'a', text: 'sunny', isError: false },
              { type: 'tool_result', toolUseId: 'b', text: 'no such city', isError: true },
              { type: 'tool_result', toolUseId: 'c', text: 'Error: no city', isError: true },
            ],
          },
        ],
        tools: [weather],
        maxTokens: 50,
        temperature: 0,
        stopSequences: ['END'],
      }),
      never,
    );
    assert.deepEqual(scene.sent()[0], {
      model: 'scripted:1b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Rome and Oslo?' },
        {
          role: 'assistant',
          content: 'One moment.',
          tool_calls: [
            { id: 'a', function: { name: 'weather', arguments: { city: 'Rome' } } },
            { id: 'b', function: { name: 'weather', arguments: { city: 'Oslo' } } },
            { id: 'c', function: { name: 'weather', arguments: { city: 'X' } } },
          ],
        },
        { role: 'tool', tool_name: 'weather', tool_call_id: 'a', content: 'sunny' },
        { role: 'tool', tool_name: 'weather', tool_call_id: 'b', content: 'Error: no such city' },
        { role: 'tool', tool_name: 'weather', tool_call_id: 'c', content: 'Error: no city' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Tells the weather.',
            parameters: weather.inputSchema,
          },
        },
      ],
      options: { num_ctx: 4096, num_predict: 50, temperature: 0, stop: ['END'] },
      think: false,
      keep_alive: '30m',
      truncate: false,
      shift: false,
      stream: true,
    });
    const description = findDescription('ollama.yaml');
    for (const exchange of scene.exchanges)
      assert.deepEqual(description?.problems(exchange) ?? [], [], exchange.path);
  });

  test('calls tools, and gives unique ids to calls without one or with the same', async () => {
    await using scene = await open(() => ({
      text: 'One moment.',
      toolCalls: [{ id: 'call_1', ...call }, { id: 'call_1', ...call }, call],
    }));
    ids = 0;
    const answer = await scene.models.chat(chatting({ tools: [weather] }), never);
    assert.equal(answer.stopReason, 'toolUse');
    const used = { type: 'tool_use', name: 'weather', input: { city: 'Rome' } };
    assert.deepEqual(answer.content, [
      { type: 'text', text: 'One moment.' },
      { ...used, id: 'call_1' },
      { ...used, id: 'made_1' },
      { ...used, id: 'made_2' },
    ]);
  });

  test('that must not call a tool is sent without tools', async () => {
    await using scene = await open(() => 'fine');
    await scene.models.chat(chatting({ tools: [weather], toolChoice: 'none' }), never);
    assert.equal(scene.sent()[0]?.['tools'], undefined);
    assert.equal(scene.sent()[0]?.['format'], undefined);
  });

  test('that must call a tool only returns calls, even if the model writes one as text', async () => {
    const text = JSON.stringify(call);
    const answers = [{ text: '', toolCalls: [call] }, { text }, { text: 'I would rather not' }];
    await using scene = await open(({ at }) => answers[at] ?? '');
    const pieces: string[] = [];
    const request = chatting({
      tools: [weather],
      toolChoice: 'required',
      progress: piece => void pieces.push(piece),
    });
    for (const _ of [1, 2]) {
      const { content, stopReason } = await scene.models.chat(request, never);
      assert.equal(stopReason, 'toolUse');
      assert.deepEqual(
        content.map(block => (block.type === 'tool_use' ? [block.name, block.input] : block)),
        [['weather', { city: 'Rome' }]],
      );
    }
    const failure = await failureOf(scene.models.chat(request, never));
    assert.equal(failure.message, 'scripted:1b called no tool, although it had to');
    assert.deepEqual(pieces, []);
    assert.deepEqual(scene.sent()[0]?.['format'], {
      anyOf: [
        {
          type: 'object',
          properties: { name: { const: 'weather' }, arguments: weather.inputSchema },
          required: ['name', 'arguments'],
        },
      ],
    });
  });

  test('that is cut off is not a failure', async () => {
    await using scene = await open(() => 'one two three four');
    const { content, stopReason } = await scene.models.chat(chatting({ maxTokens: 2 }), never);
    assert.equal(stopReason, 'maxTokens');
    assert.deepEqual(content, [{ type: 'text', text: 'one two' }]);
  });

  test.for([
    [{ text: 'one two' }, 0],
    [{ text: '', toolCalls: [call], doneReason: 'length' }, 5],
    [{ text: '', thinking: 'hm', doneReason: 'length' }, 5],
  ] as const)(
    'of %j within %i tokens says that the limit was too low',
    async ([reply, maxTokens]) => {
      await using scene = await open(() => reply);
      const { kind, message } = await failureOf(
        scene.models.chat(chatting({ tools: [weather], maxTokens }), never),
      );
      assert.equal(kind, 'refused');
      assert.equal(
        message,
        `scripted:1b used up its ${maxTokens} tokens before it said anything whole. Allow more output`,
      );
    },
  );

  test('that exceeds the context is a failure, and nothing is dropped', async () => {
    await using scene = await open(() => 'fine');
    const text = 'word '.repeat(600);
    const long = chatting({
      contextTokens: 512,
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    });
    assert.equal(await kindOf(scene.models.chat(long, never)), 'too_long');
  });

  test('with tools requires a model that can call them, which is checked without a request', async () => {
    await using scene = await open(() => 'fine');
    scene.ollama.add(modelNamed('plain', { capabilities: ['completion'] }));
    const request = chatting({ model: 'plain', tools: [weather] });
    const failure = await failureOf(scene.models.chat(request, never));
    assert.match(failure.message, /^plain:latest cannot call tools\. Choose a model/);
    assert.equal(scene.sent().length, 0);
    await scene.models.chat(chatting({ model: 'plain' }), never);
  });

  test.for([
    [{ text: '', thinking: 'hm' }, 'thinking_only'],
    [{ text: '' }, 'empty'],
    [{ text: 'x', fault: { kind: 'error', status: 500, error: 'crashed' } }, 'refused'],
    [{ text: 'x', fault: { kind: 'cut', afterLines: 1 } }, 'cut'],
    [{ text: '', toolCalls: [{ name: '', arguments: {} }] }, 'malformed'],
  ] as const)('that answers %j fails: %s', async ([reply, kind]) => {
    await using scene = await open(() => reply);
    assert.equal(await kindOf(scene.models.chat(chatting({ tools: [weather] }), never)), kind);
    assert.deepEqual(scene.models.metrics().models[0]?.failures, { [kind]: 1 });
  });

  test('ends at once when it is cancelled, and closes the connection to Ollama', async () => {
    await using scene = await open(() => new Promise(() => {}));
    const gone = new AbortController();
    const failed = kindOf(scene.models.chat(chatting(), gone.signal));
    await until(() => scene.sent().length === 1, 'the request');
    gone.abort();
    assert.equal(await failed, 'cancelled');
    await until(
      () => scene.ollama.received('/api/chat')[0]?.isAbandoned === true,
      'the end of the request',
    );
  });
});

test('chats and completions share one queue: of two calls of a model one waits', async () => {
  const gate = Promise.withResolvers<void>();
  await using scene = await open(async ({ at }) => {
    if (at === 0) await gate.promise;
    return 'fine';
  });
  const chat = scene.models.chat(chatting(), never);
  await until(() => scene.sent().length === 1, 'the first request');
  const completion = scene.models.complete(
    {
      model: 'scripted:1b',
      system: undefined,
      prompt: 'x',
      options: {},
      firstTokenMs: 10_000,
      totalMs: 30_000,
    },
    never,
  );
  await until(() => scene.models.metrics().queues[0]?.waiting === 1, 'the second call');
  assert.equal(scene.sent().length, 1);
  gate.resolve();
  await Promise.all([chat, completion]);
});

test('a long history gets the time to read it', async () => {
  const clock = createManualClock();
  await using ollama = await startScriptedOllama({
    script: () => 'fine',
    times: { clock, promptTokenMs: 10 },
  });
  await using scene = openModels(ollama.url, clock);
  // A message that the model reads in 20 s.
  const messages = [
    { role: 'user' as const, content: [{ type: 'text' as const, text: 'a '.repeat(2_000) }] },
  ];
  const chat = scene.models.chat(chatting({ messages, silentMs: 5_000, totalMs: 60_000 }), never);
  await until(() => ollama.works === 1, 'the prompt');
  clock.advance(20_000);
  assert.equal((await chat).usage.inputTokens, 2_000);
});

test('usage is estimated if Ollama omits it, and invalid arguments stay visible', async () => {
  const calls = [
    { function: { name: 'weather', arguments: '{"city":"Rome"}' } },
    { function: { name: 'weather', arguments: 'Rome' } },
    { function: { name: 'weather' } },
  ];
  const scene = openScripted(({ path }) =>
    path === '/api/chat'
      ? linesOf({ message: { content: '', tool_calls: calls } }, { message: {}, done: true })
      : undefined,
  );
  const request = chatting({ model: 'chat', tools: [] });
  const { content, usage } = await chatOnOllama(request, never, scene);
  assert.deepEqual(
    content.map(block => (block.type === 'tool_use' ? block.input : block)),
    [{ city: 'Rome' }, { arguments: 'Rome' }, {}],
  );
  assert.deepEqual(usage, { inputTokens: 16, outputTokens: 38 });
});
