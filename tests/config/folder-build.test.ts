import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { readConfig } from '#config';
import { folderBuildOf } from '../../hub/config/folder-build.ts';
import { normalizeServer } from '../../hub/config/normalize.ts';
import { draftOf } from './entry-draft.ts';

let folder = '';
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'build-source-')));
  mkdirSync(join(folder, 'mine'));
  writeFileSync(join(folder, 'mine/package.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true }));

const here = { folderOf: () => folder };

async function launchOf(entry: object) {
  const { draft, problems } = draftOf(entry, here);
  const server = await normalizeServer(draft);
  return { launch: server?.launch, problems };
}

describe('"build"', () => {
  test('is the folder with the digest of its files', async () => {
    const { launch, problems } = await launchOf({ build: './mine', args: ['x'] });
    assert.deepEqual(problems, []);
    assert.ok(launch?.kind === 'local' && launch.build && 'digest' in launch.build);
    assert.deepEqual([launch.build.folder, launch.build.kind], [join(folder, 'mine'), 'npm']);
    assert.deepEqual([launch.image, launch.package, launch.args], [undefined, undefined, ['x']]);
    writeFileSync(join(folder, 'mine/a.js'), 'changed');
    const { launch: later } = await launchOf({ build: './mine' });
    assert.ok(later?.kind === 'local' && later.build && 'digest' in later.build);
    assert.notEqual(later.build.digest, launch.build.digest);
  });

  test('has a fault if the folder cannot be built, which is not a problem of the config', async () => {
    const { draft, problems } = draftOf({ build: './none' }, here);
    const found = await folderBuildOf(draft);
    assert.ok(found && 'fault' in found);
    assert.match(found.fault, /^cannot be read/);
    assert.deepEqual(problems, []);
  });

  test('is not read while the server is disabled', async () => {
    const { draft } = draftOf({ build: './mine', disabled: true }, here);
    const found = await folderBuildOf(draft);
    assert.ok(found && 'fault' in found);
  });

  test.for<[object, RegExp]>([
    [{ build: './mine', package: 'a@1.0.0' }, /^package: cannot be combined with "build"/],
    [{ build: './mine', image: 'a' }, /^image: cannot be combined with "build"/],
    [{ build: '../mine' }, /^build: it leaves its folder/],
    [{ build: './mine', runtime: 'process' }, /^runtime: "process" cannot run a build/],
    [{ build: './mine', python: '3.12' }, /^python: is only for a folder with pyproject.toml/],
    [{ build: './mine', with: ['a'] }, /^with: is only for/],
    [{ build: './mine', url: 'https://h' }, /^build: cannot be combined with "url"/],
    [
      { system_packages: ['git'], url: 'https://h' },
      /^system_packages: cannot be combined with "url"/,
    ],
    [
      { system_packages: ['git'], package: 'agenthub:ollama-mcp' },
      /^system_packages: cannot be added/,
    ],
  ])('%j is a problem', async ([entry, expected]) => {
    const { problems } = await launchOf(entry);
    assert.ok(
      problems.some(problem => expected.test(problem)),
      problems.join('\n'),
    );
  });

  test('is refused if the folder contains keys of this machine', async () => {
    const guard = async () => 'it holds keys';
    const { draft, problems } = draftOf({ build: './mine' }, { ...here, guard });
    assert.equal(await folderBuildOf(draft), undefined);
    assert.deepEqual(problems, ['build: it holds keys']);
  });

  test('gives another origin to other files, for pins and approvals', async () => {
    const file = join(folder, 'mcp.json');
    writeFileSync(file, JSON.stringify({ servers: { mine: { build: './mine' } } }));
    const origin = async () => {
      const { config } = await readConfig(file, { env: {}, home: folder }).then(reading =>
        'config' in reading ? reading : assert.fail(String(reading.error)),
      );
      return config?.servers[0]?.origin;
    };
    const before = await origin();
    writeFileSync(join(folder, 'mine/a.js'), 'changed again');
    assert.notEqual(await origin(), before);
  });
});

test('"system_packages" are kept once each, in order', async () => {
  const { launch } = await launchOf({ package: 'a@1.0.0', system_packages: ['jq', 'git', 'jq'] });
  assert.ok(launch?.kind === 'local');
  assert.deepEqual(launch.systemPackages, ['jq', 'git']);
});
