import assert from 'node:assert/strict';
import { test } from 'vitest';
import { withTextNamed } from '../../hub/enhance/text-requests.ts';

test.for([
  ['Translate to French', 'Translate this text to French'],
  ['Translate into French this letter', 'translate this text letter into French'],
  ['Translate this sentence to French', 'Translate this text to French'],
  ['Rewrite the following in plain words', 'Rewrite this text in plain words'],
  ['Fix the grammar', 'Fix the grammar of this text'],
  ['Correct the grammar errors in this sentence', 'Correct the grammar of this text'],
  ['Make this more polite', 'make this text more polite'],
  ['Make this paragraph better', 'improve this text'],
  ['Sum this up in a single sentence', 'summarize this text in one sentence'],
] as const)('%s, followed by a text, is read as %s', ([request, named]) =>
  assert.equal(withTextNamed(request), named),
);

test.for([
  'Reverse these words',
  'Complete this sentence',
  'Make this SQL query faster',
  'Make this text a better one',
])('%s is unchanged', request => assert.equal(withTextNamed(request), request));
