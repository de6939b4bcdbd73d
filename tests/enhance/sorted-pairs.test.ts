import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Term } from '../../hub/enhance/clause-types.ts';
import { sortedPairs } from '../../hub/enhance/sorted-pairs.ts';

const termOf = (text: string): Term => ({
  stem: text.replace('!', ''),
  form: 'plain',
  raw: text,
  isVerb: text.endsWith('!'),
  isDefinite: false,
});

test.for([
  ['pros & cons', 'cons & pros'],
  ['use! tabs or spaces', 'use spaces or tabs'],
  ['short & clear text', 'clear & short text'],
  ['big pears & apples', 'big pears & apples'],
  ['nuts & me eat! pork', 'nuts & me eat pork'],
  ['nuts & me eat!', 'nuts & me eat'],
  ['c & b & a', 'c & b & a'],
] as const)('%j is sorted as %j', ([text, expected]) => {
  const { terms } = sortedPairs({ head: '', terms: text.split(' ').map(termOf) });
  assert.equal(terms.map(({ stem }) => stem).join(' '), expected);
});
