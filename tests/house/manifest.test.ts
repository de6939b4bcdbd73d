import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

test('the lock file names no registry, so that npm uses the configured one', () => {
  const lock = readFileSync('package-lock.json', 'utf8');
  assert.doesNotMatch(lock, /"resolved": "https?:/, 'run npm with omit-lockfile-registry-resolved');
});

test('versions are pinned', () => {
  const versions = { ...manifest.dependencies, ...manifest.devDependencies };
  for (const [name, version] of Object.entries(versions))
    assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${name} must have one exact version`);
});

describe('package.json names only files that exist, in', () => {
  const places = { ...manifest.scripts, bin: manifest.bin.agenthub };
  for (const [place, command] of Object.entries(places))
    test(`${place}: ${command}`, () => {
      const files = command.split(/\s+/).filter(word => /\.m?[jt]s$/.test(word));
      for (const file of files) assert.ok(existsSync(file), `${file} does not exist`);
    });
});

test('every npm script that a document or a script names exists', () => {
  const files = globSync(['*.md', 'hub/**/*.md', 'images/*/README.md', '.ci/run', 'scripts/*']);
  for (const file of files)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/\bnpm run ([\w:-]+)/g))
      assert.ok(Object.hasOwn(manifest.scripts, name), `${file} names "npm run ${name}"`);
});
