import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const key = 'sk-of-a-user-0123456789';
/** Files that a user, or the hub for the user, may write in a clone. */
const own = [
  '.env',
  'hub.yaml',
  'hub.yml',
  'configs/mcp-servers.json',
  'configs/mcp-servers.lock.json',
  'configs/enhancement-rules.json',
  'configs/work.json',
  'data/secrets.json',
];

describe('of the files that a user has in a clone', () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-shipped-'));
    for (const name of ['.dockerignore', '.gitignore', '.npmrc', 'package.json', 'bin', 'configs'])
      await cp(join(root, name), join(folder, name), { recursive: true });
    for (const file of own) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), `{"key": "${key}"}`);
    }
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Unpacks an archive. Returns its files, and those that contain the key. */
  async function searched(archive: string, name: string) {
    const to = join(folder, '..', `${folder.split('/').at(-1)}-${name}`);
    await mkdir(to);
    await run('tar', ['-xf', archive, '-C', to]);
    const entries = await readdir(to, { recursive: true, withFileTypes: true });
    const files = entries
      .filter(entry => entry.isFile())
      .map(one => join(one.parentPath, one.name));
    const texts = await Promise.all(files.map(file => readFile(file, 'utf8')));
    await rm(to, { recursive: true });
    return { files, found: files.filter((_, index) => texts[index]?.includes(key)) };
  }

  test('none is in the npm package', async () => {
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent'], { cwd: folder });
    const { files, found } = await searched(join(folder, stdout.trim()), 'package');
    assert.deepEqual(found, []);
    assert.ok(files.some(file => file.endsWith('/configs/mcp-servers.default.json')));
  });

  test('git ignores all but those that the user named', async () => {
    await run('git', ['init', '--quiet'], { cwd: folder });
    const words = ['check-ignore', ...own];
    const { stdout } = await run('git', words, { cwd: folder });
    assert.deepEqual(
      stdout.trim().split('\n'),
      own.filter(file => file !== 'configs/work.json'),
    );
  });

  describeWithEngine('with an engine', () => {
    test('none is in what the build of the image gets', async () => {
      const file = join(folder, 'Dockerfile.all');
      await writeFile(file, 'FROM scratch\nCOPY . /\n');
      const archive = join(folder, '..', `${folder.split('/').at(-1)}.tar`);
      const words = ['build', '--quiet', '--file', file, '--output', `type=tar,dest=${archive}`];
      await run('docker', [...words, folder]);
      const { files, found } = await searched(archive, 'context');
      await rm(archive);
      assert.deepEqual(found, []);
      assert.ok(files.some(name => name.endsWith('/configs/mcp-servers.default.json')));
    });
  });
});
