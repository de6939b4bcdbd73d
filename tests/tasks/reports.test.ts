import assert from 'node:assert/strict';
import { test } from 'vitest';
import { reportsOf } from '../../hub/tasks/reports.ts';
import { preparedState } from './states.ts';

const requestOf = (diff: string) =>
  reportsOf(preparedState({ status: 'pending_judge_review' }), diff)['REVIEW_REQUEST.md'] ?? '';

test('the fence around a diff is longer than each one in it', () => {
  assert.match(requestOf('+a ``` b ````` c'), /\n`{6}diff\n\+a ``` b ````` c\n`{6}\n$/);
});

test('a diff of nothing but backticks is fenced', () => {
  assert.match(requestOf('` '.repeat(250_000)), /\n```diff\n(?:` )*`\n```\n$/);
});
