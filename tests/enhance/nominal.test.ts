import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { lexemesOf } from '../../hub/enhance/lexemes.ts';
import { withVerbsForNouns } from '../../hub/enhance/nominal.ts';

const read = (text: string) =>
  withVerbsForNouns(readTokens(text).flatMap(token => lexemesOf(token, undefined)))
    .map(lexeme => lexeme.text)
    .join(' ');

test.for([
  ['a script for the deletion of logs', 'a script to delete logs'],
  ['explain the migration of users', 'explain migrate users'],
  ['show the storage of data', 'show store data'],
  ['the installation fails', 'the installation fails'],
  ['deletion of logs', 'deletion of logs'],
  ['the color of logs', 'the color of logs'],
] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));
