import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { loadConfig, schemaJson } from '#config';

const readme = readFileSync('README.md', 'utf8');
const configure = readFileSync('docs/configure.md', 'utf8');

test('the config in docs/configure.md is valid', async () => {
  const [, text = ''] = /```json\n([\s\S]*?)```/.exec(configure) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-readme-'));
  const file = join(folder, 'mcp-servers.json');
  writeFileSync(file, text);
  const config = await loadConfig(file, { env: {}, home: '/home/user' });
  rmSync(folder, { recursive: true });
  assert.deepEqual(
    config.servers.map(server => server.name),
    ['files', 'time', 'github', 'docs'],
  );
});

test('every key that docs/configure.md explains is in the schema', () => {
  const schema = schemaJson();
  const table = /\| key [\s\S]*?\n\n/.exec(configure)?.[0] ?? '';
  const keys = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z_]+)`/g)].map(([, key = '']) => key),
  );
  assert.ok(keys.length > 10);
  for (const key of keys) assert.ok(schema.includes(`"${key}": {`), key);
});

test('every file that README.md names exists', () => {
  const linked = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, file = '']) => file);
  const named = [...readme.matchAll(/\b((?:compose|tests|configs)\/[\w./-]+)/g)].map(
    ([, file = '']) => file.replace(/\.$/, ''),
  );
  const ignored = readFileSync('.gitignore', 'utf8').split('\n');
  assert.ok(linked.length > 3);
  // Pages also name files that users create, which Git ignores.
  for (const file of [...linked, ...named])
    assert.ok(existsSync(file) || ignored.includes(`/${file}`), file);
});

test('every file that hub/README.md names exists', () => {
  const house = readFileSync('hub/README.md', 'utf8');
  const named = [...house.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|md)|decisions\/\d{4})`/g)].map(
    ([, file = '']) => file,
  );
  assert.ok(named.length > 20);
  for (const file of named) {
    // A name without a path stands for a file anywhere below `hub`.
    const places = file.includes('/')
      ? [`hub/${file}`, file, `hub/${file}-*.md`]
      : [`hub/**/${file}`];
    assert.ok(globSync(places).length > 0, file);
  }
});
