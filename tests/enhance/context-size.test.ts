import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules } from '#config';
import { contextSizeOf } from '#enhance';
import { rulesOf } from './rules-of.ts';

const { options } = defaultRules.default;
const withSize = (num_ctx: number) => ({ options: { ...options, num_ctx } });

test('all calls of a model use the largest num_ctx of its rules', () => {
  const rules = rulesOf({
    rule: { model: 'small', ...withSize(2048) },
    clients: {
      editor: { model: 'SMALL:latest', ...withSize(4096) },
      other: { model: 'large', ...withSize(16_384) },
      off: { model: 'small', enabled: false, ...withSize(32_768) },
      usual: { model: undefined, ...withSize(512) },
    },
    fallbackChain: ['spare'],
  });
  const sizes = ['small', 'large', 'usual', 'spare', 'judge'].map(model =>
    contextSizeOf(model, rules, 'usual'),
  );
  // All rules can call `spare` of the fallback chain, so it gets their largest size. No rule calls `judge`.
  assert.deepEqual(sizes, [4096, 16_384, 512, 16_384, undefined]);
});
