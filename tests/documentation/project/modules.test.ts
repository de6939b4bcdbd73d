import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import type { FileOutline } from '../../../hub/documentation/outline/outline-types.ts';
import { findCycles } from '../../../hub/documentation/project/cycles.ts';
import { buildProject } from '../../../hub/documentation/project/build-project.ts';
import { groupModules, introductionOf } from '../../../hub/documentation/project/modules.ts';

const file = (path: string, imports: readonly string[] = [], doc?: string): FileOutline => ({
  path,
  language: 'TypeScript',
  lines: 1,
  bytes: 1,
  hash: path,
  ...(doc !== undefined && { doc: { text: doc, line: 1 } }),
  symbols: [],
  moreSymbols: 0,
  imports,
  isParsed: true,
});

/** Resolves a specifier to the folder of that name, or to a package if it begins with "pkg". */
const resolve = (_file: FileOutline, specifier: string) =>
  specifier.startsWith('pkg')
    ? ({ kind: 'package', name: specifier } as const)
    : ({ kind: 'folder', folder: specifier } as const);

test('modules are folders, with the modules they use and those that use them', () => {
  const modules = groupModules(
    [
      file('b/x.ts', ['a', 'pkg1']),
      file('b/y.ts', ['a', 'b', 'none']),
      file('a/index.ts', [], 'The base.'),
    ],
    [],
    resolve,
  );
  assert.deepEqual(
    modules.map(({ folder, uses, usedBy, packages }) => [folder, [...uses], usedBy, packages]),
    [
      ['a', [], ['b'], []],
      ['b', [['a', ['b/x.ts', 'b/y.ts']]], [], ['pkg1']],
    ],
  );
  assert.deepEqual(modules[0]?.summary, { text: 'The base.', path: 'a/index.ts', line: 1 });
});

test('the README of a folder has priority over comments', () => {
  const readme = { path: 'a/README.md', text: '# A\n\nWhat a really is.\n' };
  const [module] = groupModules([file('a/index.ts', [], 'x y')], [readme], resolve);
  assert.deepEqual(module?.summary, { text: 'What a really is.', path: 'a/README.md', line: 3 });
});

test('tests below one folder are one module', () => {
  const modules = groupModules(
    [file('tests/a/x.test.ts', ['a']), file('tests/b/y.test.ts'), file('a/x.ts')],
    [],
    resolve,
  );
  assert.deepEqual(
    modules.map(({ folder, isTests, files }) => [folder, isTests, files.length]),
    [
      ['a', false, 1],
      ['tests', true, 2],
    ],
  );
});

test.each([
  [
    '# T\n\n[![badge](a)](b)\n<p>x</p>\n\nA tool that **counts** [words](x).\nIn texts.\n',
    'A tool that counts words. In texts.',
    6,
  ],
  ['```\ncode that is long\n```\n- a list item\n\nThe text itself.\n', 'The text itself.', 6],
  ['# Only a heading\n', undefined, undefined],
])('the introduction of %j', (text, expected, line) => {
  const found = introductionOf({ path: 'README.md', text });
  assert.deepEqual([found?.text, found?.line], [expected, line]);
});

test.each([
  ['words without an end', `${'a'.repeat(100_000)}${' 1'.repeat(100_000)}`, undefined],
  ['short lines', 'a\n'.repeat(200_000), undefined],
  ['a word without a space', `abc def${'g'.repeat(200_000)}`, 'abc ...'],
])('an introduction of %s is read in linear time', (_, text, expected) => {
  const cpuMs = startCpuTimer();
  assert.equal(introductionOf({ path: 'README.md', text })?.text, expected);
  assert.ok(cpuMs() < 1_000);
});

test('the title of a document is read in linear time, and cut', () => {
  const titleOf = (text: string) => {
    const others = [{ path: 'docs/a.md', text }];
    const facts = { name: 'x', root: '/x', commit: 'c', trackedFiles: 1 };
    return buildProject({ ...facts, others, outlines: [], excluded: [] }, () => {}).documents[0]
      ?.title;
  };
  assert.equal(titleOf('## A title  ##  \n'), 'A title');
  const cpuMs = startCpuTimer();
  assert.equal(titleOf(`# A${' '.repeat(200_000)}b`), 'A');
  assert.equal(titleOf(`# ${'a'.repeat(200_000)}`)?.length, 1_000);
  assert.ok(cpuMs() < 1_000);
});

test('cycles are found, also in long chains without one', () => {
  const chain = Array.from({ length: 20_000 }, (_, at) => file(`m${at}/a.ts`, [`m${at + 1}`]));
  const circle = [
    file('x/a.ts', ['y']),
    file('y/a.ts', ['z']),
    file('z/a.ts', ['x', 'w']),
    file('w/a.ts'),
  ];
  const modules = groupModules([...chain, ...circle], [], resolve);
  assert.deepEqual(findCycles(modules), [['x', 'y', 'z']]);
});
