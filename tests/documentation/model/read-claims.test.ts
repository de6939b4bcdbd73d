import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { readClaims } from '../../../hub/documentation/model/read-claims.ts';

const lines = new Map([
  ['src/a.ts', 10],
  ['src/b/a.ts', 5],
  ['src/count.ts', 20],
]);

test.each<readonly [answer: string, claims: readonly string[], removed: number, dropped: number]>([
  ['- It counts words. [src/count.ts:3]', ['It counts words. @src/count.ts:3'], 0, 0],
  ['* It counts (`count.ts:3-9`, src/a.ts:10).', ['It counts. @src/count.ts:3,src/a.ts:10'], 0, 0],
  [
    '- It counts twice. [src/count.ts:3] [src/count.ts:21]',
    ['It counts twice. @src/count.ts:3'],
    1,
    0,
  ],
  ['- It lies about it. [src/none.ts:1]', [], 1, 1],
  ['- It lies about lines. [src/a.ts:0]', [], 1, 1],
  ['- Two files are called so. [a.ts:1]', [], 1, 1],
  ['- It cites nothing.', [], 0, 1],
  [
    'Here is what I found:\n\n1. It counts words. [count.ts:1]',
    ['It counts words. @src/count.ts:1'],
    0,
    0,
  ],
  ['- [src/a.ts:1]', [], 0, 1],
  ['- Outside of it. [../../etc/passwd.txt:1]', [], 1, 1],
  ['', [], 0, 0],
])('%j', (answer, expected, removed, dropped) => {
  const { claims, removedCitations, droppedClaims } = readClaims(answer, lines);
  assert.deepEqual(
    claims.map(
      ({ text, citations }) =>
        `${text} @${citations.map(({ path, line }) => `${path}:${line}`).join()}`,
    ),
    expected,
  );
  assert.deepEqual([removedCitations, droppedClaims], [removed, dropped]);
});

test('claims are bounded', () => {
  const { claims } = readClaims(`- ${'word '.repeat(500)} [src/a.ts:1]\n`.repeat(50), lines);
  assert.equal(claims.length, 12);
  assert.ok((claims[0]?.text.length ?? 0) <= 600);
});

test.each(['a', ' ', '(', 'a.b', 'a/'])('an answer of %j is read in linear time', part => {
  const cpuMs = startCpuTimer();
  const { claims } = readClaims(`- ${part.repeat(60_000 / part.length)}`, lines);
  assert.deepEqual([claims, cpuMs() < 2_000], [[], true]);
});
