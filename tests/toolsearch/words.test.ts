import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { keywordsOf, splitName, stemOf, wordsOf } from '../../hub/toolsearch/words.ts';

test.each([
  ['createIssue', 'create Issue'],
  ['get-station_code2Name', 'get station code2 Name'],
  ['HTTPServer', 'HTTPServer'],
])('the name %s has the parts "%s"', (name, expected) => {
  assert.equal(splitName(name), expected);
});

test.each([
  ['files filed file filing', ['fil', 'fil', 'fil', 'fil']],
  ['Find the QUERIES of my query', ['find', 'query', 'query']],
  ['boxes classes status is', ['box', 'class', 'status']],
  ['planned planning', ['plan', 'plan']],
  ['general generate', ['general', 'generat']],
  ['八字 of 2000', ['八', '字', '2000']],
])('the stems of "%s" are %j', (text, expected) => {
  assert.deepEqual(wordsOf(text), expected);
});

test('words without endings are unchanged', () => {
  assert.deepEqual(['gas', 'read', 'axe'].map(stemOf), ['gas', 'read', 'axe']);
});

test('data without spaces is one word, and is read in linear time', () => {
  const cpuMs = startCpuTimer();
  for (let times = 0; times < 20; times++)
    assert.deepEqual(wordsOf('a'.repeat(8_000)), ['a'.repeat(8_000)]);
  assert.ok(cpuMs() < 1_000, 'the endings were searched from each letter');
});

test('keywords are the content words, or all words if there are none', () => {
  assert.equal(keywordsOf('Please read the Excel file for me!'), 'read Excel file');
  assert.equal(keywordsOf('what is it?'), 'what is it?');
});
