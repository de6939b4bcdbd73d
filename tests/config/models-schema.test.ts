import assert from 'node:assert/strict';
import { test } from 'vitest';
import { modelsSchema, readModels } from '../../hub/config/models-schema.ts';

test('what is not written has defaults', () => {
  const defaults = { defaultModel: undefined, contextTokens: 8192, timeoutMs: 600_000 };
  assert.deepEqual(readModels(undefined), defaults);
  assert.deepEqual(readModels(modelsSchema.parse({})), defaults);
});

test('what is written is taken', () => {
  const written = { default: 'llama3.2:3b', context: 16_384, timeout_seconds: 60 };
  assert.deepEqual(readModels(modelsSchema.parse(written)), {
    defaultModel: 'llama3.2:3b',
    contextTokens: 16_384,
    timeoutMs: 60_000,
  });
});

test('keys and sizes that make no sense are refused', () => {
  for (const wrong of [{ context: 100 }, { default: '' }, { timeout_seconds: 0 }, { modell: 'x' }])
    assert.ok(!modelsSchema.safeParse(wrong).success, JSON.stringify(wrong));
});
