import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  type CachedResult,
  hitOf,
  inWords,
  outcomeOf,
  parseResult,
} from '../../hub/enhance/result.ts';

const attempt = { model: 'm', kind: 'timeout', message: 'late', tookMs: 5 } as const;
const made = {
  kind: 'made',
  prompt: 'better',
  model: 'm',
  digest: 'd',
  isOwn: true,
  attempts: [attempt],
} as const;
const near = { kind: 'near', prompt: 'better', model: 'm', similarity: 0.9, ageMs: 3 } as const;
const none = { kind: 'none', reason: 'm: late', attempts: [attempt] } as const;
const results: readonly CachedResult[] = [made, near, none];

describe('a stored result', () => {
  test.each(results)('of kind $kind is read back unchanged', result => {
    assert.deepEqual(parseResult(JSON.stringify(result)), result);
  });

  const faulty: readonly (readonly [string, unknown])[] = [
    ['is not an object', [made]],
    ['is null', null],
    ['has an unknown kind', { ...near, kind: 'far' }],
    ['has no kind', { ...made, kind: undefined }],
    ['has no prompt', { ...made, prompt: undefined }],
    ['has a model that is not text', { ...made, model: 1 }],
    ['has no digest', { ...made, digest: undefined }],
    ['does not say whose it is', { ...made, isOwn: 1 }],
    ['has no attempts', { ...made, attempts: undefined }],
    ['has an attempt that is not an object', { ...made, attempts: [null] }],
    [
      'has an attempt without a message',
      { ...made, attempts: [{ ...attempt, message: undefined }] },
    ],
    [
      'has an attempt without its time',
      { ...none, attempts: [attempt, { ...attempt, tookMs: '5' }] },
    ],
    ['has no reason', { ...none, reason: undefined }],
    ['has no similarity', { ...near, similarity: null }],
    ['has no age', { ...near, ageMs: '3' }],
  ];

  test.each(faulty)('that %s is not used', (_what, value) => {
    assert.equal(parseResult(JSON.stringify(value)), undefined);
  });

  test('that is not JSON is not used', () => {
    assert.equal(parseResult('better'), undefined);
  });
});

test.each([
  [made, { enhanced: true, prompt: 'better', source: 'model', cache: 'miss' }],
  [
    { ...made, isOwn: false },
    { enhanced: true, prompt: 'better', source: 'fallback', cache: 'miss' },
  ],
  [
    near,
    { enhanced: true, prompt: 'better', source: 'l2', cache: 'hit_l2', similarity: 0.9, ageMs: 3 },
  ],
  [
    none,
    { enhanced: false, prompt: 'given', source: 'unchanged', cache: 'miss', reason: 'm: late' },
  ],
])('the outcome of the result %o is %o', (result, expected) => {
  const { attempts, model, ...outcome } = outcomeOf(result, { prompt: 'given' });
  assert.deepEqual(outcome, expected);
  assert.equal(model, result.kind === 'none' ? undefined : 'm');
  assert.deepEqual(attempts, result.kind === 'near' ? [] : [attempt]);
});

test('only the result of a model is a hit of the exact cache, without its earlier attempts', () => {
  const found = { value: '', from: 'hit', ageMs: 2.6 } as const;
  assert.deepEqual(hitOf(found, made), {
    prompt: 'better',
    enhanced: true,
    source: 'l1',
    cache: 'hit_l1',
    model: 'm',
    ageMs: 3,
    attempts: [],
  });
  for (const other of [near, none, undefined]) assert.equal(hitOf(found, other), undefined);
});

test.each([
  ['llama3.2:3b', 'it refused, or spoke of itself', 'llama3.2:3b: it refused, or spoke of itself'],
  ['llama3.2:3b', 'llama3.2:3b was silent for 10 s', 'llama3.2:3b was silent for 10 s'],
  ['qwen3', 'qwen3:latest gave an empty answer', 'qwen3:latest gave an empty answer'],
])('the failure of %s with "%s" names the model once: "%s"', (model, message, expected) => {
  assert.equal(inWords({ model, message, kind: 'timeout', tookMs: 1 }), expected);
});
