import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createJudge } from '../../hub/enhance/judge.ts';
import { startOllama } from '../doubles/ollama.ts';
import { never, openModels } from '../models/scene.ts';

const model = 'llama3.2:3b';

async function openJudge(deadlineMs = 10_000, contextSize?: () => number) {
  const stack = new AsyncDisposableStack();
  const ollama = stack.use(await startOllama());
  const { models } = stack.use(openModels(ollama.url));
  const judge = createJudge(
    { model, deadlineMs, ...(contextSize && { contextSize }) },
    { models, clock: systemClock },
  );
  return { ollama, judge, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('a judge', () => {
  test('sends the model both prompts as data, with a schema and temperature 0', async () => {
    await using scene = await openJudge();
    scene.ollama.says('{"same": true}');
    assert.equal(await scene.judge.ask('say "a"', 'say "b"', never), 'same');
    const { body } = scene.ollama.received('/api/chat').at(-1) ?? assert.fail();
    const { messages, options, format } = body;
    assert.deepEqual(options, { temperature: 0, num_predict: 32 });
    assert.deepEqual(format, {
      type: 'object',
      properties: { same: { type: 'boolean' } },
      required: ['same'],
    });
    assert.ok(Array.isArray(messages));
    const content = '{"prompts":["say \\"a\\"","say \\"b\\""]}';
    assert.deepEqual(messages.at(-1), { role: 'user', content });
  });

  test('sends the num_ctx of the other calls of its model, so that Ollama does not reload it', async () => {
    await using scene = await openJudge(10_000, () => 8192);
    await scene.judge.ask('a', 'b', never);
    const { body } = scene.ollama.received('/api/chat').at(-1) ?? assert.fail();
    assert.deepEqual(body['options'], { temperature: 0, num_predict: 32, num_ctx: 8192 });
  });

  test.for([
    ['{"same": true}', 'same'],
    ['{"same":false}', 'different'],
    [' {"same": true, "why": "both reverse a string"}\n', 'same'],
    ['{"same": "true"}', 'unknown'],
    ['{"same": 1}', 'unknown'],
    ['{"equal": true}', 'unknown'],
    ['true', 'unknown'],
    ['null', 'unknown'],
    ['[true]', 'unknown'],
    ['Yes, {"same": true}', 'unknown'],
    ['{"same": tr', 'unknown'],
    ['', 'unknown'],
  ] as const)('reads %j as %s', async ([said, judgement]) => {
    await using scene = await openJudge();
    scene.ollama.says(said);
    assert.equal(await scene.judge.ask('a', 'b', never), judgement);
  });

  test.for([
    { kind: 'error', status: 503, error: 'server busy' },
    { kind: 'html', status: 502 },
    { kind: 'reset', afterLines: 0 },
    { kind: 'cut', afterLines: 0 },
    { kind: 'invalid_line', afterLines: 0 },
  ] as const)('answers unknown after $kind', async fault => {
    await using scene = await openJudge();
    scene.ollama.says('{"same": true}');
    scene.ollama.fails('/api/chat', fault);
    assert.equal(await scene.judge.ask('a', 'b', never), 'unknown');
  });

  test('that hangs is abandoned at the deadline', async () => {
    await using scene = await openJudge(30);
    scene.ollama.fails('/api/chat', { kind: 'hang' });
    assert.equal(await scene.judge.ask('a', 'b', never), 'unknown');
  });

  test('has 30 s, even if the model ignores its signal', async () => {
    const clock = createManualClock();
    const asked: number[] = [];
    const models = {
      complete(request: { readonly totalMs: number }) {
        asked.push(request.totalMs);
        return new Promise<never>(() => {});
      },
    };
    const judge = createJudge({ model }, { models, clock });
    const asking = judge.ask('a', 'b', never);
    clock.advance(30_000);
    assert.equal(await asking, 'unknown');
    assert.deepEqual(asked, [30_000]);
    assert.equal(clock.waiting, 0);
  });

  test('whose caller aborts rejects with the reason', async () => {
    await using scene = await openJudge();
    scene.ollama.fails('/api/chat', { kind: 'hang' });
    const gone = new AbortController();
    const judging = scene.judge.ask('a', 'b', gone.signal);
    gone.abort(new Error('the client has gone'));
    await assert.rejects(judging, { message: 'the client has gone' });
  });
});
