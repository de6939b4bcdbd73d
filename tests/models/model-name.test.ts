import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fullName, isSameModel } from '../../hub/models/model-name.ts';

test.each([
  ['qwen3', 'qwen3:latest'],
  ['qwen3:8b', 'qwen3:8b'],
  ['library/qwen3', 'qwen3:latest'],
  ['registry.ollama.ai/library/qwen3:8b', 'qwen3:8b'],
  ['registry.ollama.ai/user/model', 'user/model:latest'],
  ['hf.co/org/model', 'hf.co/org/model:latest'],
  ['hf.co/org/model:Q4_K_M', 'hf.co/org/model:Q4_K_M'],
  ['https://hf.co/org/model:Q4', 'hf.co/org/model:Q4'],
  ['https://registry.ollama.ai/library/qwen3', 'qwen3:latest'],
  ['host:5000/user/model', 'host:5000/user/model:latest'],
  ['host:5000/user/model:1', 'host:5000/user/model:1'],
])('the full name of %s is %s', (name, expected) => {
  assert.equal(fullName(name), expected);
});

test('two names of one model are the same in any case', () => {
  assert.ok(isSameModel('Qwen3', 'registry.ollama.ai/library/qwen3:LATEST'));
  assert.ok(!isSameModel('qwen3', 'qwen3:8b'));
});
