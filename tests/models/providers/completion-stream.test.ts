import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createCompletion } from '../../../hub/models/providers/completion-stream.ts';

const callOf = (piece: object) => ({ choices: [{ delta: { tool_calls: [piece] } }] });

describe('the length of a completion', () => {
  test('includes calls without arguments, whose number has no other limit', () => {
    const completion = createCompletion(undefined);
    for (let index = 0; index < 1_000; index++) completion.add(callOf({ index }));
    assert.equal(completion.length, 1_000);
  });

  test('includes ids and names of calls', () => {
    const completion = createCompletion(undefined);
    completion.add(callOf({ index: 0, id: 'i'.repeat(500), function: { name: 'n'.repeat(500) } }));
    assert.equal(completion.length, 1_001);
  });
});

test.each([-5, 1.5, 1e300, '7'])('a usage of %s tokens is omitted', tokens => {
  const completion = createCompletion(undefined);
  completion.add({ usage: { prompt_tokens: tokens, completion_tokens: tokens } });
  const { promptTokens, outputTokens } = completion.end();
  assert.deepEqual([promptTokens, outputTokens], [undefined, undefined]);
});
