import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Report, parseDecision, reportText } from '../../hub/resilience/redis-scripts.ts';

const report: Report = {
  key: 'ollama',
  epoch: 1_750_000_000_000_000,
  state: 'open',
  remainingMs: 29_999.2,
  failures: 3,
  why: 'reset',
  ageMs: 1.2345,
  trial: { token: 't', leaseMs: 0 },
};
const textOf = (changes: Partial<Report> = {}): unknown =>
  JSON.parse(reportText({ ...report, ...changes }));

describe('a report', () => {
  test('has its epoch as text, its age in microseconds and whole milliseconds', () => {
    assert.deepEqual(textOf(), {
      key: 'ollama',
      epoch: '1750000000000000',
      state: 'open',
      remaining: 30_000,
      failures: 3,
      why: 'reset',
      decided: true,
      age: 1_235,
      trial: { token: 't', leaseMs: 0 },
    });
  });

  test('of a change that the others know has no age, and no trial if there is none', () => {
    assert.partialDeepStrictEqual(textOf({ ageMs: undefined }), { decided: false, age: 0 });
    assert.partialDeepStrictEqual(textOf({ ageMs: 0 }), { decided: true, age: 0 });
    assert.doesNotMatch(reportText({ ...report, trial: undefined }), /trial/);
  });

  test('has at most 300 characters of the reason, without half a surrogate pair at its end', () => {
    const why = `${'x'.repeat(299)}😀`;
    assert.partialDeepStrictEqual(textOf({ why }), { why: `${'x'.repeat(299)}\ufffd` });
  });
});

describe('a decision', () => {
  const fields = ['1750000000000000', 'open', '30000', '3', 'reset'];

  test('is read as the script writes it', () => {
    assert.deepEqual(parseDecision(fields), {
      epoch: 1_750_000_000_000_000,
      state: 'open',
      remainingMs: 30_000,
      failures: 3,
      why: 'reset',
    });
    assert.equal(parseDecision(fields.with(1, 'closed'))?.state, 'closed');
  });

  test.for([
    ['without fields', []],
    ['with a new epoch alone', ['1750000000000000']],
    ['of another state', fields.with(1, 'half_open')],
    ['of an epoch that is not a number', fields.with(0, 'x')],
    ['of an epoch that is not exact', fields.with(0, '9007199254740993')],
    ['that ended', fields.with(2, '-1')],
    ['of half a millisecond', fields.with(2, '0.5')],
    ['of no end', fields.with(2, 'Infinity')],
    ['of failures that are no number', fields.with(3, '3 of them')],
  ] as const)('%s is not one', ([, given]) => {
    assert.equal(parseDecision(given), undefined);
  });
});
