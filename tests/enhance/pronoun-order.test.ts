import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { isOtherPronounOrder } from '../../hub/enhance/pronoun-order.ts';

const isOther = (a: string, b: string) => {
  const other = isOtherPronounOrder(canonicalOf(a), canonicalOf(b));
  assert.equal(isOtherPronounOrder(canonicalOf(b), canonicalOf(a)), other);
  return other;
};

test.for([
  ['who acts', 'He said she was late', 'She said he was late'],
  ['who acts and who is meant', 'Why did he call her?', 'Why did she call him?'],
  ['what moves where', 'Move this to that', 'Move that to this'],
  ['who loves whom', 'Everyone loves someone', 'Someone loves everyone'],
  ['whose it is', 'Put my name above your name', 'Put your name above my name'],
] as const)('pronouns in another order change %s', ([, a, b]) => assert.equal(isOther(a, b), true));

test.for([
  ['the same order', 'Why did he call her?', 'Tell me why he called her'],
  ['a moved condition', 'If he calls, tell her', 'Tell her if he calls'],
  ['"I" elsewhere', 'When it fails, what should I do?', 'What should I do when it fails?'],
  ['one pronoun less', 'Find the files that it reads', 'Find the files it reads'],
] as const)('pronouns make no difference with %s', ([, a, b]) =>
  assert.equal(isOther(a, b), false),
);
