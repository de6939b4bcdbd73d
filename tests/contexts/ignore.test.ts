import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { createIgnore } from '../../hub/contexts/ignore.ts';

test.for([
  ['data', 'data/a/b', true],
  ['data/', 'data/a', true],
  ['/data', 'data/a', true],
  ['./data', 'data', true],
  ['src/../data', 'data', true],
  ['/../data', 'data', true],
  ['../data', 'data', false],
  ['data', 'src/data', false],
  ['data', 'database', false],
  ['**/data', 'src/data/x', true],
  ['**/data', 'data', true],
  ['src/**', 'src/a/b', true],
  ['src/**/*.js', 'src/a.js', true],
  ['src/**/*.js', 'src/a/b/c.js', true],
  ['*.js', 'a.js', true],
  ['*.js', 'src/a.js', false],
  ['*', '.hidden', true],
  ['a?', 'ab', true],
  ['a?', 'a/', false],
  ['a[b-d]', 'ac', true],
  ['a[^b-d]', 'ac', false],
  ['a.b', 'axb', false],
  ['a+(b)', 'a+(b)', true],
  [String.raw`a\*`, 'a*', true],
  [String.raw`a\*`, 'ab', false],
  ['# data', 'data', false],
  ['  data  ', 'data', true],
  ['', 'data', false],
  ['ü*', 'über', true],
  ['a**c', 'a/b/c', true],
  ['**/a/**/b', 'x/a/y/z/b', true],
  ['**/ab', 'xab', false],
  ['**', 'a/b', true],
  ['**/**/x', 'x', true],
  ['a[', 'a[', true],
  ['[😀-😂]', '😁', true],
  [String.raw`[\_\-]`, '-', true],
] as const)('the pattern %j and the path %j: %j', ([pattern, path, isIgnored]) => {
  assert.equal(createIgnore([pattern]).ignores(path), isIgnored);
});

test.each(['[z-a]', 'src/[😂-😀]', String.raw`[a-\]b]`])(
  'the pattern %j is an error with its text, as for docker build',
  pattern => {
    assert.throws(() => createIgnore([pattern]), {
      message: `holds a .dockerignore with a syntax error in ${JSON.stringify(pattern.replace('src/', ''))}. Correct this pattern`,
    });
  },
);

test.each([
  ['*a'.repeat(20) + 'b', 'a'.repeat(250)],
  ['**/a/'.repeat(20) + 'b', 'a/'.repeat(500) + 'c'],
  ['**a'.repeat(20) + 'b', 'a/'.repeat(500) + 'c'],
  ['*'.repeat(20_000) + 'b', 'a/'.repeat(500) + 'c'],
  ['**/'.repeat(7_000) + 'b', 'a/'.repeat(500) + 'c'],
  ['**a'.repeat(20_000) + 'c', `${'a'.repeat(250)}/`.repeat(16) + 'c'],
])('the time of a match does not grow with the number of possible matches: %#', (pattern, path) => {
  const { ignores, mayExceptBelow } = createIgnore(['*', `!${pattern}`]);
  const cpuMs = startCpuTimer();
  assert.equal(ignores(path), true);
  mayExceptBelow(path);
  assert.ok(cpuMs() < 3_000);
});

test('8,000 rules take little time for a file that contains none of their names', () => {
  const { ignores } = createIgnore(Array.from({ length: 8_000 }, (_, at) => `**/x${at}`));
  const cpuMs = startCpuTimer();
  for (let at = 0; at < 1_000; at++) assert.equal(ignores(`src/folder/file-number-${at}`), false);
  assert.ok(cpuMs() < 3_000);
});

test('a character class has at most 1,000 characters, and is text above that', () => {
  const allows = (length: number) => createIgnore([`[${'b'.repeat(length)}]`]).ignores;
  assert.equal(allows(1_000)('b'), true);
  assert.equal(allows(1_001)('b'), false);
  assert.equal(allows(1_001)(`[${'b'.repeat(1_001)}]`), true);
});

test('the time to read brackets without an end does not grow with their square', () => {
  const cpuMs = startCpuTimer();
  createIgnore(['['.repeat(64_000)]);
  assert.ok(cpuMs() < 3_000);
});

test('the last rule that matches decides', () => {
  const { ignores } = createIgnore(['*', '!src', '!a.md', 'src/*.log', '!src/keep.log']);
  const paths = ['src/a.ts', 'src/a.log', 'src/keep.log', 'a.md', 'b.md'];
  assert.deepEqual(
    paths.filter(path => !ignores(path)),
    ['src/a.ts', 'src/keep.log', 'a.md'],
  );
});

test.for([
  ['!data/keep', 'data', true],
  ['!data/keep/x', 'data/keep', true],
  ['!data/keep', 'data/keep', false],
  ['!data/keep', 'node_modules', false],
  ['!*/keep', 'any', true],
  ['!**/keep', 'any/folder', true],
  ['!Dockerfile', 'data', false],
  ['data/keep', 'data', false],
] as const)('whether the exception %s may apply below %s: %s', ([rule, folder, expected]) => {
  assert.equal(createIgnore(['*', rule]).mayExceptBelow(folder), expected);
});
