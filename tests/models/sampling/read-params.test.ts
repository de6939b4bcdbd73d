import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { startCpuTimer } from '#helpers/cpu-time';
import { ollamaMessages } from '../../../hub/models/chat/ollama-messages.ts';
import { readSamplingParams } from '../../../hub/models/sampling/read-params.ts';

const user = { role: 'user', content: { type: 'text', text: 'hello' } };
const use = (id: string) => ({ type: 'tool_use', id, name: 'run', input: { a: 1 } });
const result = (toolUseId: string, made: object = {}) => ({
  type: 'tool_result',
  toolUseId,
  content: [{ type: 'text', text: 'done' }],
  ...made,
});
const calls = (...ids: string[]) => ({ role: 'assistant', content: ids.map(use) });
const results = (...ids: string[]) => ({ role: 'user', content: ids.map(id => result(id)) });
const params = (made: object = {}) => ({ messages: [user], maxTokens: 10, ...made });

test('the smallest request is read', () => {
  assert.deepEqual(readSamplingParams(params()), {
    system: undefined,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    tools: [],
    toolChoice: 'auto',
    maxTokens: 10,
    temperature: undefined,
    stopSequences: [],
    hasTools: false,
    hints: [],
  });
});

test('a request with all fields is read', () => {
  const inputSchema = { type: 'object' };
  const read = readSamplingParams(
    params({
      messages: [user, calls('a', 'b'), results('b', 'a')],
      systemPrompt: 'Be brief.',
      temperature: 0.5,
      stopSequences: ['END'],
      includeContext: 'none',
      metadata: { any: 1 },
      tools: [{ name: 'run', description: 'Runs.', inputSchema, title: 'Run' }],
      toolChoice: { mode: 'required' },
      modelPreferences: { hints: [{ name: 'a' }, {}, { name: 'b' }], costPriority: 1 },
      _meta: { progressToken: 1 },
    }),
  );
  assert.deepEqual(
    { ...read, messages: read.messages.slice(1) },
    {
      system: 'Be brief.',
      messages: [
        {
          role: 'assistant',
          content: ['a', 'b'].map(id => ({ type: 'tool_use', id, name: 'run', input: { a: 1 } })),
        },
        {
          role: 'user',
          content: ['b', 'a'].map(toolUseId => ({
            type: 'tool_result',
            toolUseId,
            text: 'done',
            isError: false,
          })),
        },
      ],
      tools: [{ name: 'run', description: 'Runs.', inputSchema }],
      toolChoice: 'required',
      maxTokens: 10,
      temperature: 0.5,
      stopSequences: ['END'],
      hasTools: true,
      hints: ['a', 'b'],
    },
  );
});

test('results of tools are converted to text', () => {
  const contents: readonly (readonly [object, string])[] = [
    [{ content: [] }, ''],
    [{ content: [], structuredContent: { sum: 3 } }, '{"sum":3}'],
    [
      {
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      'one\n\ntwo',
    ],
    [{ content: [{ type: 'resource', resource: { uri: 'a:b', text: 'inside' } }] }, 'inside'],
    [
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'AA==' } }] },
      '[resource a:b: not shown to the model]',
    ],
    [
      { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] },
      '[image image/png: not shown to the model]',
    ],
  ];
  for (const [made, text] of contents) {
    const messages = [user, calls('a'), { role: 'user', content: result('a', made) }];
    const last = readSamplingParams(params({ messages })).messages.at(-1);
    const [block] = last?.content ?? [];
    assert.equal(block?.type === 'tool_result' && block.text, text);
  }
});

test('messages without content are omitted, as histories contain empty answers', () => {
  const empty = { role: 'assistant', content: [] };
  const read = readSamplingParams(params({ messages: [user, empty, user] }));
  assert.deepEqual(
    read.messages.map(({ role }) => role),
    ['user', 'user'],
  );
});

describe('a request is refused with its field and the expected value', () => {
  const mixed = { role: 'user', content: [result('a'), user.content] };
  test.for([
    [undefined, 'params is not an object'],
    [params({ task: {} }), 'task is not supported'],
    [params({ maxTokens: undefined }), 'maxTokens is missing: send a whole number from 1 on'],
    [params({ maxTokens: 0 }), 'maxTokens is 0: send a whole number'],
    [params({ maxTokens: 1.5 }), 'maxTokens is 1.5'],
    [params({ temperature: 'hot' }), 'temperature is "hot": send a number'],
    [params({ stopSequences: 'END' }), 'stopSequences is "END": send a list of texts'],
    [params({ systemPrompt: 1 }), 'systemPrompt is 1: send a text'],
    [params({ tools: {} }), 'tools is {}: send a list'],
    [params({ tools: [{ inputSchema: {} }] }), 'tools[0].name is missing'],
    [params({ tools: [{ name: 'a' }] }), 'tools[0].inputSchema is missing: send a JSON schema'],
    [
      params({ tools: [1, 2].map(() => ({ name: 'a', inputSchema: {} })) }),
      'tools[1].name "a" comes twice',
    ],
    [params({ toolChoice: { mode: 'any' } }), 'toolChoice.mode is "any": send auto, required'],
    [params({ toolChoice: { mode: 'required' } }), 'toolChoice.mode "required" needs tools'],
    [params({ modelPreferences: { hints: 'a' } }), 'modelPreferences.hints is not a list'],
    [params({ messages: [] }), 'messages is not a list of messages'],
    [params({ messages: [{ role: 'system', content: user.content }] }), 'messages[0].role'],
    [params({ messages: [{ role: 'user', content: [] }] }), 'messages has no content'],
    [params({ messages: [{ role: 'user' }] }), 'messages[0].content.type is unknown'],
    [
      params({ messages: [{ role: 'user', content: { type: 'text' } }] }),
      'messages[0].content.text is not a string',
    ],
    [
      params({ messages: [{ role: 'user', content: [{ type: 'image', data: '' }] }] }),
      'messages[0].content[0].type is "image", which the hub does not pass to models',
    ],
    [
      params({ messages: [{ role: 'assistant', content: { ...use('a'), input: 'x' } }] }),
      'messages[0].content.input is not an object',
    ],
    [
      params({ messages: [{ role: 'assistant', content: result('a') }] }),
      'messages[0].content has a tool_result in an assistant message',
    ],
    [
      params({ messages: [{ role: 'user', content: use('a') }] }),
      'messages[0].content has a tool_use in a user message',
    ],
    [
      params({ messages: [user, calls('a'), mixed] }),
      'messages[2].content has other blocks beside tool_result',
    ],
    [params({ messages: [user, calls('a')] }), 'messages[1].content calls tools, and no message'],
    [
      params({ messages: [user, calls('a'), user] }),
      'messages[2].content has no tool_result for "a"',
    ],
    [
      params({ messages: [user, calls('a', 'b'), results('a')] }),
      'messages[2].content has no tool_result for "b"',
    ],
    [
      params({ messages: [user, calls('a'), results('a', 'b')] }),
      'messages[2].content has a tool_result for "b"',
    ],
    [
      params({ messages: [user, calls('a'), results('a', 'a')] }),
      'messages[2].content has a tool_result for "a", which the message before does not call, or twice',
    ],
    [
      params({ messages: [user, calls('a', 'a'), results('a')] }),
      'messages[1].content has two tool_use of one id',
    ],
    [params({ messages: [results('a')] }), 'messages[0].content has a tool_result for "a"'],
  ] as const)('%j: %s', ([given, words]) => {
    assert.throws(
      () => readSamplingParams(given),
      (error: unknown) => {
        assert.ok(error instanceof HubError && error.code === 'HUB_REQUEST_INVALID');
        assert.ok(error.message.startsWith(`sampling/createMessage: ${words}`), error.message);
        return true;
      },
    );
  });
});

test('many tool calls are read in linear time', () => {
  const cpuMs = startCpuTimer();
  const ids = Array.from({ length: 60_000 }, (_, at) => `call-${at}`);
  const { messages } = readSamplingParams(
    params({ messages: [user, calls(...ids), results(...ids)] }),
  );
  assert.equal(messages[2]?.content.length, ids.length);
  assert.equal(
    ollamaMessages({ system: undefined, messages, tools: [], toolChoice: 'auto' }).messages.length,
    ids.length + 2,
  );
  assert.ok(cpuMs() < 4_000);
});
