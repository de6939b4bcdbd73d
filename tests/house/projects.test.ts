import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { isObject } from '#core';
import config from '../../vitest.config.ts';

type Project = {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
};

const patternsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

const projects = (config.test?.projects ?? []).map((project): Project => {
  assert.ok(isObject(project) && isObject(project['test']));
  const { name, include, exclude } = project['test'];
  return { name: String(name), include: patternsOf(include), exclude: patternsOf(exclude) };
});

test('each test file is in one project, and each pattern of a project has a file', () => {
  const files = globSync('tests/**/*.test.ts', { exclude: ['**/node_modules/**'] });
  const isIn = (file: string, patterns: readonly string[]) =>
    patterns.some(pattern => matchesGlob(file, pattern));
  for (const file of files) {
    const found = projects.filter(
      ({ include, exclude }) => isIn(file, include) && !isIn(file, exclude),
    );
    expect(
      found.map(({ name }) => name),
      file,
    ).toHaveLength(1);
  }
  for (const { name, include } of projects)
    for (const pattern of include)
      assert.ok(
        files.some(file => matchesGlob(file, pattern)),
        `${name}: ${pattern}`,
      );
});
