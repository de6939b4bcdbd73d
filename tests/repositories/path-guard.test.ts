import { expect, test } from 'vitest';
import { checkChanges, checkPaths } from '#repositories';
import { anyPath } from './harness.ts';

const whyNot = (path: string) => checkPaths([path], anyPath)[0]?.why;

test.each([
  'a',
  'src/deep/file.ts',
  '.gitignore',
  '.github/workflows/check.yml',
  'git/x',
  'a.git/x',
  '-rf',
  ' leading space',
  'ünïcode/文件.md',
  'ab:c',
  '...',
  'gitmodules',
])('%j may be written', path => {
  expect(checkPaths([path], anyPath)).toEqual([]);
});

test.each([
  ['', 'is empty'],
  ['/etc/passwd', 'is absolute: name it relative to the top folder'],
  ['C:/Windows', 'is absolute: name it relative to the top folder'],
  ['c:x', 'is absolute: name it relative to the top folder'],
  ['..', 'has the part ".."'],
  ['a/../../b', 'has the part ".."'],
  ['./a', 'has the part "."'],
  ['a//b', 'has an empty part'],
  ['a/', 'has an empty part'],
  ['a\\..\\b', 'has a backslash: write "/" between folders'],
  ['a\0b', 'has a control character'],
  ['a\nb', 'has a control character'],
  ['\ud800', 'is not valid Unicode'],
  ['.git/config', 'has the part ".git", which is git\'s own'],
  ['a/.git/hooks/pre-commit', 'has the part ".git", which is git\'s own'],
  ['.GIT/config', 'has the part ".GIT", which is git\'s own'],
  ['.git./config', 'has the part ".git.", which is git\'s own'],
  ['.git . /config', 'has the part ".git . ", which is git\'s own'],
  ['GIT~1/config', 'has the part "GIT~1", which is git\'s own'],
  ['.git::$INDEX_ALLOCATION/config', "which is git's own"],
  ['.g\u200cit/config', "which is git's own"],
  ['.git', "which is git's own"],
  ['.gitmodules', 'would define submodules'],
  ['a/.GitModules ', 'would define submodules'],
  ['x'.repeat(256), 'has a name of more than 255 bytes'],
  ['x/'.repeat(600) + 'x', 'exceeds 1024 bytes'],
])('%j is refused', (path, why) => {
  expect(whyNot(path)).toContain(why);
});

const rules = (allowed: readonly string[], forbidden: readonly string[] = []) => ({
  allowed,
  forbidden,
});

test.each([
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/deep/a.ts', false],
  ['src/**/*.ts', 'src/a.ts', true],
  ['src/**/*.ts', 'src/deep/er/a.ts', true],
  ['src/**', 'src/a', true],
  ['src/**', 'src', true],
  ['src', 'src/a/b', true],
  ['src/', 'src/a', true],
  ['./src/', 'src/a', true],
  ['src', 'srcs/a', false],
  ['**/x', 'a/b/x', true],
  ['**/x', 'x', true],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['*', 'a', true],
  ['*.md', 'README.MD', false],
  ['a*b*c', 'aXbYbZc', true],
  ['[a].ts', '[a].ts', true],
  ['a.ts', 'aXts', false],
])('the pattern %j allows %j: %j', (pattern, path, expected) => {
  expect(checkPaths([path], rules([pattern])).length === 0).toBe(expected);
});

test('a forbidden path is refused in any case, even when it is allowed', () => {
  const faults = checkPaths(['src/a.ts', 'SRC/Secret/b.ts'], rules(['**'], ['src/secret']));
  expect(faults).toEqual([{ path: 'SRC/Secret/b.ts', why: 'is forbidden (forbidden_paths)' }]);
});

test('a hostile pattern is matched quickly', () => {
  const pattern = `${'*a'.repeat(400)}b`;
  const folders = Array.from({ length: 200 }, () => '**').join('/');
  const path = Array.from({ length: 200 }, () => 'aa').join('/');
  expect(checkPaths(['a'.repeat(250), path], rules([pattern, folders + '/z']))).toHaveLength(2);
});

test('links and submodules among changes are refused, unless they are deleted', () => {
  const changes = [
    { path: 'link', status: 'added', mode: 'link' },
    { path: 'gone', status: 'deleted', mode: 'link' },
    { path: 'module', status: 'modified', mode: 'submodule' },
    { path: 'file', status: 'type_changed', mode: 'executable' },
  ] as const;
  expect(checkChanges(changes, anyPath)).toEqual([
    { path: 'link', why: 'is a symbolic link' },
    { path: 'module', why: 'is a submodule' },
  ]);
});
