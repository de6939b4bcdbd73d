import assert from 'node:assert/strict';
import { test } from 'vitest';
import { hintsOf } from '#policy';

const assumed = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

test.each([
  ['no annotations', undefined, assumed],
  ['annotations that are no object', 'readOnlyHint', assumed],
  ['hints that are no booleans', { readOnlyHint: 'true', destructiveHint: 0 }, assumed],
  [
    'a tool that only reads',
    { readOnlyHint: true },
    { ...assumed, readOnlyHint: true, destructiveHint: false },
  ],
  [
    'a tool that only reads and says that it destroys',
    { readOnlyHint: true, destructiveHint: true },
    { ...assumed, readOnlyHint: true, destructiveHint: false },
  ],
  ['a tool that adds', { destructiveHint: false }, { ...assumed, destructiveHint: false }],
  [
    'all hints',
    { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    { ...assumed, idempotentHint: true, openWorldHint: false },
  ],
])('the hints of %s', (_what, annotations, expected) => {
  assert.deepEqual(hintsOf(annotations), expected);
});
