import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { lexemesOf } from '../../hub/enhance/lexemes.ts';
import { withPlainPurpose } from '../../hub/enhance/purpose.ts';

const read = (text: string) =>
  withPlainPurpose(readTokens(text).flatMap(token => lexemesOf(token, undefined)))
    .map(lexeme => lexeme.text)
    .join(' ');

test.for([
  ['cache it in order to save time', 'cache it to save time'],
  ['cache it so as to save time', 'cache it to save time'],
  ['cache it so that it saves time', 'cache it to saves time'],
  ['cache it so we can save time', 'cache it to save time'],
  ['cache it so that it is fast', 'cache it so that it is fast'],
  ['it is slow so cache it', 'it is slow so cache it'],
  ['sort it in order', 'sort it in order'],
] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));
