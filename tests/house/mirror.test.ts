import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { coveredBy } from './covered-by.ts';

const branch =
  /"type":"(?:IfStatement|ConditionalExpression|LogicalExpression|SwitchCase|CatchClause)"/;

const hasBranches = (source: string) =>
  branch.test(
    JSON.stringify(parseAst(source, { lang: 'ts' }), (_, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    ),
  );

const testOf = (file: string) => `tests/${file}.test.ts`;

/** Files that need a test of their own name, or one that covers them, without `hub/` and `.ts`. */
const branching = globSync('hub/**/*.ts')
  .filter(file => !file.endsWith('/index.ts') && hasBranches(readFileSync(file, 'utf8')))
  .map(file => file.slice('hub/'.length, -'.ts'.length));

test('a file with branches has a test of its name, or an entry in covered-by.ts', () => {
  const covered = new Set(Object.values(coveredBy).flat());
  expect(
    branching.filter(file => !existsSync(testOf(file)) && !covered.has(file)),
    'write tests/<name>.test.ts, or add the name to tests/house/covered-by.ts',
  ).toEqual([]);
});

test('covered-by.ts names existing tests, and only files that need them', () => {
  for (const [by, files] of Object.entries(coveredBy)) {
    assert.ok(existsSync(testOf(by)), `${testOf(by)} does not exist`);
    for (const file of files) {
      assert.ok(
        branching.includes(file),
        `hub/${file}.ts does not exist, or has no branches: remove it`,
      );
      assert.ok(!existsSync(testOf(file)), `${testOf(file)} exists: remove ${file}`);
    }
  }
  const all = Object.values(coveredBy).flat();
  assert.equal(new Set(all).size, all.length, 'a file is listed once');
});

test.each([
  ['if (a) b();', true],
  ['export const c = a ?? b;', true],
  ['export type A = B extends C ? D : E;', false],
  ['export const sum = (a: number, b: number) => a + b;', false],
])('%s has branches: %s', (source, expected) => {
  assert.equal(hasBranches(source), expected);
});
