import assert from 'node:assert/strict';
import { test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { type CompletionRequest, complete } from '../../hub/models/complete.ts';
import { asking, failureOf, never } from './scene.ts';
import { hang, openScripted } from './scripted.ts';

const request: CompletionRequest = asking({ model: 'chat', options: { num_ctx: 8192 } });
const silence = 'chat:latest was silent for 10 s';

type World = {
  /** Size of the context with which Ollama holds the model, in tokens. */
  readonly held?: unknown;
  /** Size of the context that the model was trained with, in tokens. */
  readonly trained?: unknown;
};

/** Returns the error message of a call that Ollama never answers, while it reports this about the model. */
async function messageOf({ held, trained }: World, asked = request): Promise<string> {
  const scene = openScripted(({ path }, signal) => {
    if (path === '/api/chat') return hang(signal);
    if (path === '/api/ps')
      return Response.json({
        models: [
          { name: 'other:latest', context_length: 1 },
          ...(held === undefined ? [] : [{ name: 'CHAT:latest', context_length: held }]),
        ],
      });
    return path === '/api/show'
      ? Response.json({ model_info: { 'llama.context_length': trained } })
      : undefined;
  });
  const failure = failureOf(complete({ ...asked, model: 'chat' }, never, scene));
  await until(() => scene.sent.some(({ path }) => path === '/api/chat'), 'the call');
  scene.clock.advance(10_000);
  const { kind, model, message } = await failure;
  assert.deepEqual([kind, model], ['timeout', 'chat:latest']);
  return message;
}

test('a timeout names the context size with which another program holds the model', async () => {
  const why = (held: number) =>
    `${silence}: Ollama holds it with a context of ${held} tokens, and the hub asks for 8192. Use one size in all programs, or run "ollama stop chat:latest"`;
  assert.equal(await messageOf({ held: 4096, trained: 131_072 }), why(4096));
  assert.equal(await messageOf({ held: 16_384 }), why(16_384));
});

test.each<readonly [string, World]>([
  ['is held with the context that the hub asks for', { held: 8192, trained: 131_072 }],
  ['was trained with a smaller context, which Ollama uses', { held: 2048, trained: 2048 }],
  ['has a context that Ollama does not tell', { held: 4096 }],
  ['is not in memory', { trained: 131_072 }],
  ['is listed without its context', { held: null }],
])('a timeout has no such hint if the model %s', async (_, world) => {
  assert.equal(await messageOf(world), silence);
});

test('a timeout names the setting of the call, unless another program holds the model', async () => {
  const set = { ...request, firstTokenSetting: '"timeouts.load"' };
  assert.equal(await messageOf({}, set), `${silence}. Raise "timeouts.load"`);
  assert.match(
    await messageOf({ held: 4096, trained: 131_072 }, set),
    /: Ollama holds it .* in all programs/,
  );
});

test('a timeout has no such hint if the hub sets no context size', async () => {
  assert.equal(await messageOf({ held: 4096, trained: 131_072 }, asking()), silence);
});

test('a timeout is reported even if Ollama does not list loaded models', async () => {
  let isListed = false;
  const scene = openScripted(({ path }, signal) => {
    if (path === '/api/ps' && !isListed) return void (isListed = true);
    return path === '/api/chat' || path === '/api/ps' ? hang(signal) : undefined;
  });
  const failure = failureOf(complete(request, never, scene));
  await until(() => scene.sent.some(({ path }) => path === '/api/chat'), 'the call');
  scene.clock.advance(10_000);
  await until(
    () => scene.sent.filter(({ path }) => path === '/api/ps').length === 2,
    'the question',
  );
  scene.clock.advance(500);
  assert.equal((await failure).message, silence);
});
