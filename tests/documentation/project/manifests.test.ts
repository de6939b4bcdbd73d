import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { isManifest, readManifests } from '../../../hub/documentation/project/manifests.ts';

test('entry points are read with their lines', () => {
  const { entryPoints } = readManifests([
    {
      path: 'package.json',
      text: '{\n  "name": "app",\n  "main": "lib/app.js",\n  "bin": {\n    "app": "bin/app.js"\n  },\n  "scripts": {\n    "start": "node .",\n    "other": "x"\n  }\n}\n',
    },
    { path: 'py/pyproject.toml', text: '[project.scripts]\ncount = "app.cli:main"\n' },
  ]);
  assert.deepEqual(
    entryPoints.map(({ what, target, path, line }) => [what, target, `${path}:${line}`]),
    [
      ['package main', 'lib/app.js', 'package.json:3'],
      ['command app', 'bin/app.js', 'package.json:5'],
      ['npm run start', 'node .', 'package.json:8'],
      ['command count', 'app.cli:main', 'py/pyproject.toml:2'],
    ],
  );
});

test('a manifest that is not JSON is ignored', () => {
  const { packages, dependencies } = readManifests([{ path: 'package.json', text: '{' }]);
  assert.deepEqual([packages, dependencies.size], [[], 0]);
});

test.each([
  ['go.mod', '\n'.repeat(200_000)],
  ['go.mod', 'a.'.repeat(100_000)],
  ['Cargo.toml', `[a${' '.repeat(200_000)}`],
  ['pyproject.toml', `"${'a'.repeat(200_000)}`],
  ['pyproject.toml', `"${'a'.repeat(990)}\n`.repeat(200)],
])('%s is read in linear time: %#', (path, text) => {
  const cpuMs = startCpuTimer();
  assert.equal(readManifests([{ path, text }]).dependencies.size, 0);
  assert.ok(cpuMs() < 1_000);
});

test('a manifest with thousands of commands is read up to the limit of entry points', () => {
  const bin = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`a${at}`, 'b']));
  const cpuMs = startCpuTimer();
  const text = JSON.stringify({ bin }, null, 1);
  assert.equal(readManifests([{ path: 'package.json', text }]).entryPoints.length, 40);
  assert.ok(cpuMs() < 1_000, 'each command searched all lines');
});

test('tables of TOML are read with spaces, and in lists', () => {
  const text =
    '[[bin]]\nserde = "1"\n[ dev-dependencies ]\nx = "1"\n[target.dependencies]\ny = "1"\n';
  const { dependencies } = readManifests([{ path: 'Cargo.toml', text }]);
  assert.deepEqual([...dependencies], ['x', 'y']);
});

test('dependencies are read for all languages', () => {
  const { dependencies } = readManifests([
    { path: 'requirements.txt', text: 'Requests==2\n# comment\nscikit-learn\n' },
    { path: 'Cargo.toml', text: '[package]\nname = "x"\n[dependencies]\nserde = "1"\n' },
    { path: 'go.mod', text: 'module a.org/b\nrequire c.org/d v1.0.0\n' },
    { path: 'package.json', text: '{"devDependencies": {"vitest": "1"}}' },
  ]);
  assert.deepEqual([...dependencies].toSorted(), [
    'c.org/d',
    'requests',
    'scikit_learn',
    'serde',
    'vitest',
  ]);
});

test.each([
  ['a/package.json', true],
  ['go.mod', true],
  ['a/xpackage.json', false],
])('whether %s is a manifest: %s', (path, expected) => {
  assert.equal(isManifest(path), expected);
});
