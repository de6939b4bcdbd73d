import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { type Lexeme, lexemesOf } from '../../hub/enhance/lexemes.ts';
import { activeVoice, withEarlyNot, withRelative } from '../../hub/enhance/word-order.ts';

const read = (text: string, change: (lexemes: readonly Lexeme[]) => readonly Lexeme[]) =>
  change(readTokens(text).flatMap(token => lexemesOf(token, undefined)))
    .map(lexeme => lexeme.text)
    .join(' ');

test.for([
  ['does the job not run when it is late', 'does not the job run when it is late'],
  ['the job does not run', 'does not the job run'],
  ['does not the job run', 'does not the job run'],
  ['does the job run and not stop', 'does the job run and not stop'],
  ['should i use not a map', 'should i use not a map'],
  ['does it not only run', 'does it not only run'],
] as const)('"not" of %j is moved after its auxiliary verb', ([text, expected]) =>
  assert.equal(read(text, withEarlyNot), expected),
);

test.for([
  ['how should rows be stored', 'how should i stored rows'],
  ['how often should the oil of my car be changed', 'how often should i changed the oil of my car'],
  ['where should the bin be placed', 'where should i placed the bin'],
  ['when can the lid be opened', 'when can the lid be opened'],
  ['how often must it be changed by me', 'how often must it be changed by me'],
  ['when should i be paid', 'when should i be paid'],
] as const)('the passive question %j is read as %j', ([text, expected]) =>
  assert.equal(read(text, activeVoice), expected),
);

test('a final "by" is read as a relative clause', () =>
  assert.equal(
    read('find the job the row was locked by', withRelative),
    'find the job that locked the row',
  ));
