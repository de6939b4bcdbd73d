import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  compareVersions,
  splitSpec,
  withVersion,
} from '../../../hub/installs/upgrades/versions.ts';

test.each([
  ['1.2.3', '1.2.3', 0],
  ['1.2.3', '1.2.10', -1],
  ['2.0.0', '1.9.9', 1],
  ['2025.11.25', '2026.1.26', -1],
  ['1.0.0-rc.2', '1.0.0', -1],
  ['1.0.0-rc.2', '1.0.0-rc.10', -1],
  ['1.0.0-beta', '1.0.0-rc.1', -1],
  ['1.0.0+build.7', '1.0.0', 0],
  ['1.0', '1.0.0', 0],
  ['1.0a1', '1.0', -1],
  ['1.0.dev3', '1.0', -1],
  ['1.0.post1', '1.0', 1],
  ['1!1.0', '2.0', 1],
  ['1!1.0', '1!2.0', -1],
  ['0!2.0', '2.0', 0],
])('%s compared with %s', (one, other, expected) => {
  assert.equal(Math.sign(compareVersions(one, other)), expected);
  assert.equal(Math.sign(compareVersions(other, one)), expected === 0 ? 0 : -expected);
});

test.each([
  ['npm', '@org/name@1.2.3', '@org/name', '1.2.3'],
  ['npm', 'name', 'name', undefined],
  ['npm', 'name@latest', 'name', undefined],
  ['npm', 'name@1', 'name', undefined],
  ['npm', 'name@1.2', 'name', undefined],
  ['pypi', 'name==2025', 'name', '2025'],
  ['pypi', 'name==1.*', 'name', undefined],
  ['pypi', 'name==1.0', 'name', '1.0'],
  ['pypi', 'name==1!2.0', 'name', '1!2.0'],
  ['pypi', 'name', 'name', undefined],
] as const)('%s %s is split into its parts', (ecosystem, spec, name, version) => {
  assert.deepEqual(splitSpec({ ecosystem, spec }), { name, version });
});

test('a package gets another version in the syntax of its registry', () => {
  assert.equal(withVersion({ ecosystem: 'npm', spec: '@o/n@1.0.0' }, '2.0.0').spec, '@o/n@2.0.0');
  assert.deepEqual(withVersion({ ecosystem: 'pypi', spec: 'n', with: ['x'] }, '2.0'), {
    ecosystem: 'pypi',
    spec: 'n==2.0',
    with: ['x'],
  });
});
