import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { withoutContext } from '../../hub/enhance/language-context.ts';
import { lexemesOf } from '../../hub/enhance/lexemes.ts';

const read = (text: string) => {
  const found = withoutContext(readTokens(text).flatMap(token => lexemesOf(token, undefined)));
  return [found.lexemes.map(lexeme => lexeme.text).join(' '), ...found.context];
};

test.for([
  ['sort a list in python', ['sort a list', 'python']],
  ['python script that sorts', ['script that sorts', 'python']],
  ['using only numpy, a python script', ['using only numpy , a script', 'python']],
  ['port a ruby script to python', ['port a ruby script to python']],
  ['compare java, a python dialect', ['compare java , a python dialect']],
] as const)('in %j the language is separated from the request', ([text, expected]) =>
  assert.deepEqual(read(text), expected),
);
