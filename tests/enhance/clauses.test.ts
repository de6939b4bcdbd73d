import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { structureOf } from '../../hub/enhance/clauses.ts';
import { sentencesOf } from '../../hub/enhance/terms.ts';

const structures = (text: string) =>
  sentencesOf(canonicalOf(text).tokens).map(sentence => structureOf(sentence, true));
const read = (text: string) =>
  structures(text).flatMap(({ clauses }) =>
    clauses.map(({ head, chunks }) => {
      const parts = chunks.map(chunk => [chunk.head, ...chunk.terms.map(({ raw }) => raw)]);
      return `${head}: ${parts.map(part => part.join(' ').trim()).join(' | ')}`;
    }),
  );

test.for([
  ['Move a file from src to lib', ['main: move file | from src | to lib']],
  ['Without mocks, test it', ['main: without mocks | test it']],
  ['Open it if it fails', ['main: open it', 'if: it fails']],
  ['Rename the file and open it', ['main: rename file', 'main: open it']],
  ['Use tabs and spaces', ['main: use tabs and spaces']],
  ['Use red tabs and spaces', ['main: use red tabs and spaces']],
  ['Which files import a.ts?', ['main: files', 'rel: import a.ts']],
  ['Which files does a.ts import?', ['main: files', 'rel: a.ts import']],
  ['Which files are imported by a.ts?', ['main: files', 'rel: a.ts imported']],
  ['List files in src', ['main: files | in src']],
  ['List files that are in src', ['main: files | in src']],
  ['Use a tool to sort files', ['main: use tool', 'rel: sort files']],
  ['Make a report of it every month', ['main: ~time every month | report | of it']],
] as const)('%j has the clauses %j', ([text, expected]) => assert.deepEqual(read(text), expected));

test.for([
  ['Write a sort function in Python', ['python'], ['main: sort function']],
  ["Explain Java's streams", ['java'], ['main: streams']],
  ['Convert the script to Python', [], ['main: Convert to script | > Python']],
  ['Call the Python service', [], ['main: call Python service']],
] as const)('in %j the language context is %j', ([text, context, expected]) => {
  assert.deepEqual(structures(text)[0]?.context, context);
  assert.deepEqual(
    read(text).map(line => line.toLowerCase()),
    expected.map(line => line.toLowerCase()),
  );
});

test('kinds of named things and the tense are stored separately', () => {
  const [{ kinds, tense } = { kinds: [], tense: undefined }] = structures(
    'Was the function parseUrl moved?',
  );
  assert.deepEqual([kinds, tense], [['=function'], 'past']);
});
