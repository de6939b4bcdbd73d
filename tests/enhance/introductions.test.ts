import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { withLateIntroductions } from '../../hub/enhance/introductions.ts';

const read = (text: string) =>
  withLateIntroductions(readTokens(text))
    .map(({ text: written }) => written)
    .join(' ');

test.for([
  ['before I upgrade, what do I check?', 'what do I check before I upgrade ?'],
  ['in Go, how do I sort a list', 'how do I sort a list in Go'],
  ['if it is small, old, and red, which is it?', 'which is it if it is small , old , and red ?'],
  ['how do I, in Go, sort a list?', 'how do I sort a list in Go ?'],
  ['from this list, remove all names', 'remove all names from this list'],
  ['if it fails, stop the job', 'if it fails , stop the job'],
  ['for which, what is it?', 'for which , what is it ?'],
  ['in Go or C, the list is sorted', 'in Go or C , the list is sorted'],
] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));
