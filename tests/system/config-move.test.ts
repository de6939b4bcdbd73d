import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import oldConfig from '../fixtures/tracked-config.json' with { type: 'json' };

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const config = 'configs/mcp-servers.json';
const byDefault = 'configs/mcp-servers.default.json';
const own = { ...oldConfig, servers: { ...oldConfig.servers, mine: { image: 'mine:1' } } };
const text = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`;
const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'pull.rebase=false'];
const git = async (folder: string, ...words: readonly string[]) =>
  (await run('git', [...identity, ...words], { cwd: folder })).stdout;

/** Up to version 0.1 Git tracked the config that users edited. */
describe('git pull over the version in which the config moved', () => {
  let scratch = '';
  let origin = '';
  let count = 0;

  /** Clones the repository at the version before the move. */
  async function clone(): Promise<string> {
    const folder = join(scratch, `clone-${count++}`);
    await git(scratch, 'clone', '--quiet', origin, folder);
    await git(folder, 'reset', '--quiet', '--hard', 'HEAD~1');
    return folder;
  }
  const read = async (folder: string, file: string) => await readFile(join(folder, file), 'utf8');

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'agenthub-pull-'));
    origin = join(scratch, 'origin');
    await mkdir(join(origin, 'configs'), { recursive: true });
    await git(origin, 'init', '--quiet', '--initial-branch=main');
    await writeFile(join(origin, config), text(oldConfig));
    await writeFile(join(origin, '.gitignore'), '/data/\n');
    await git(origin, 'add', '--all');
    await git(origin, 'commit', '--quiet', '--message=before');
    await git(origin, 'rm', '--quiet', config);
    for (const file of ['.gitignore', byDefault]) await cp(join(root, file), join(origin, file));
    await git(origin, 'add', '--all');
    await git(origin, 'commit', '--quiet', '--message=after');
  });

  afterAll(() => rm(scratch, { recursive: true, force: true }));

  test('refuses to overwrite an edited config', async () => {
    const folder = await clone();
    await writeFile(join(folder, config), text(own));
    await assert.rejects(git(folder, 'pull', '--quiet'), /would be overwritten by merge/);
    assert.equal(await read(folder, config), text(own));
  });

  test('keeps an edited config by the commands of docs/operate.md, and git ignores it then', async () => {
    const docs = await read(root, 'docs/operate.md');
    const [, commands = ''] = /```sh\n(mv configs[^`]+)```/.exec(docs) ?? [];
    assert.match(commands, /^git pull$/m);
    const folder = await clone();
    await writeFile(join(folder, config), text(own));
    await run('sh', ['-euc', commands], { cwd: folder });
    assert.equal(await read(folder, config), text(own));
    assert.equal(await read(folder, byDefault), await read(root, byDefault));
    assert.equal(await git(folder, 'status', '--porcelain'), '');
  });

  test('stops at an edit that was committed, and leaves it in its place', async () => {
    const folder = await clone();
    await writeFile(join(folder, config), text(own));
    await git(folder, 'commit', '--quiet', '--all', '--message=mine');
    await assert.rejects(git(folder, 'pull', '--quiet', '--no-edit'));
    assert.equal(await read(folder, config), text(own));
    assert.equal(await read(folder, byDefault), await read(root, byDefault));
    await git(folder, 'rm', '--quiet', '--cached', config);
    await git(folder, 'commit', '--quiet', '--no-edit');
    assert.equal(await read(folder, config), text(own));
  });

  test('removes an unedited config', async () => {
    const folder = await clone();
    await git(folder, 'pull', '--quiet');
    await assert.rejects(read(folder, config), { code: 'ENOENT' });
  });
});
