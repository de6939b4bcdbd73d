import { expect, test } from 'vitest';
import { type ModelRuns, ModelFailure, createModelRuns } from '#models';

type Chat = Parameters<typeof createModelRuns>[0]['chat'];

const answered: Awaited<ReturnType<Chat>> = {
  model: 'm:1b',
  content: [{ type: 'text', text: 'yes' }],
  stopReason: 'endTurn',
  usage: { inputTokens: 3, outputTokens: 2 },
  tookMs: 12.4,
};
const context = { caller: { client: 'server:ollama', kind: 'server' as const } };
const signal = new AbortController().signal;

function open(chat: Chat = async () => answered): ModelRuns {
  return createModelRuns({
    chat,
    list: async () => ({ models: [{ name: 'm:1b', source: 'ollama' }], unavailable: [] }),
  });
}

const uncalled: Chat = () => Promise.reject(new Error('it was called'));
const run = (params: unknown, chat?: Chat) => open(chat).run(params, context, signal);
const params = { model: 'm:1b', prompt: 'x', timeoutMs: 1_000 };

test('a prompt is sent as a chat of one message, and its answer is the result', async () => {
  const seen: unknown[] = [];
  const result = await run(
    { ...params, system: 's', format: 'json', options: { seed: 1, stop: 'end', num_predict: 5 } },
    async request => {
      seen.push(request);
      return answered;
    },
  );
  expect(seen).toEqual([
    expect.objectContaining({
      model: 'm:1b',
      system: 's',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
      format: 'json',
      tuning: { seed: 1 },
      stopSequences: ['end'],
      maxTokens: 5,
      timeoutMs: 1_000,
      allowsEmpty: true,
    }),
  ]);
  expect(result).toEqual({
    text: 'yes',
    model: 'm:1b',
    tokens: { prompt: 3, completion: 2 },
    durations: { totalMs: 12 },
    doneReason: 'stop',
    thinkingOnly: false,
  });
});

test('a cut answer, and thoughts alone, are results', async () => {
  const chat: Chat = async () => ({
    ...answered,
    content: [],
    stopReason: 'maxTokens',
    isThoughtOnly: true,
  });
  expect(await run(params, chat)).toMatchObject({
    text: '',
    doneReason: 'length',
    thinkingOnly: true,
  });
});

test('a failure of a model is a HubError with its kind', async () => {
  const chat: Chat = async () => {
    throw new ModelFailure('busy', 'full', { retryAfterMs: 5 });
  };
  await expect(run(params, chat)).rejects.toMatchObject({
    code: 'HUB_MODEL_FAILED',
    data: { kind: 'busy', retryable: true, retryAfterMs: 5 },
  });
});

test.each<[object | null, RegExp]>([
  [null, /params is not an object/],
  [{ model: '' }, /model is not a name/],
  [{ model: 'x'.repeat(201) }, /model is not a name/],
  [{ prompt: '' }, /prompt is not a string/],
  [{ prompt: 'x'.repeat(1_000_001) }, /has 1000001 characters: send at most 1000000/],
  [{ system: 1 }, /system is not a string/],
  [{ timeoutMs: 0 }, /timeoutMs is not a duration/],
  [{ timeoutMs: undefined }, /timeoutMs is not a duration/],
  [{ format: 'xml' }, /format is not a JSON schema/],
  [{ format: { x: 'y'.repeat(100_000) } }, /format has \d+ characters/],
  [{ options: [] }, /options is not an object/],
  [{ options: { num_ctx: 1 } }, /options\.num_ctx is set by the server/],
  [{ options: { tempreature: 1 } }, /options\.tempreature is unknown: send only temperature/],
  [{ options: { temperature: 'hot' } }, /options\.temperature is not a number/],
  [{ options: { temperature: -1 } }, /options\.temperature is below 0: send a number from 0 on/],
  [{ options: { num_predict: 0 } }, /options\.num_predict is not a number of tokens/],
  [{ options: { stop: [1] } }, /options\.stop is not a list of strings/],
  [{ options: { top_p: NaN } }, /options\.top_p is not a number/],
])('%j is refused', async (change, message) => {
  await expect(run(change && { ...params, ...change }, uncalled)).rejects.toMatchObject({
    code: 'HUB_REQUEST_INVALID',
    message: expect.stringMatching(message),
  });
});

test('the list has the models of chats', async () => {
  expect(await open().list(signal)).toEqual({
    models: [{ name: 'm:1b', source: 'ollama' }],
    unavailable: [],
  });
});
