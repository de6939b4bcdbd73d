import assert from 'node:assert/strict';
import { test } from 'vitest';
import { lexemesOf } from '../../hub/enhance/lexemes.ts';
import { tokensOf } from '../../hub/enhance/tokens.ts';

const stemsOf = (text: string) => {
  const tokens = tokensOf(text, true);
  return tokens.flatMap((token, at) => lexemesOf(token, tokens[at + 1])).map(({ stem }) => stem);
};

test.for([
  ["Java's streams", ['java', 'stream~']],
  ['a read-only file', ['a', 'read~', 'only~', 'file~']],
  ['the built-in one', ['the', 'built-in~', 'one']],
  ['A file, a.ts', ['a', 'file~', ',', 'identifier a.ts']],
  ['call A from b', ['call~', 'A', 'from', 'b~']],
  ['a GET request', ['a', 'GET', 'request~']],
  ['wait 10 ms', ['wait~', 'number 10ms']],
] as const)('the stems of %j are %j', ([text, expected]) =>
  assert.deepEqual(stemsOf(text), expected),
);
