import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engineAvailable } from '#helpers/engine';
import { until } from '#helpers/hub';
import type { Repository } from '#repositories';
import { createHub, docker, imagesDir } from '../runtimes/docker/hub.ts';
import {
  type Runner,
  type Scene,
  createScene,
  failureOf,
  git,
  mergeInto,
  signal,
  workOn,
  writeFiles,
  writeInto,
} from './harness.ts';

const runners: readonly Runner[] = engineAvailable() ? ['docker', 'process'] : ['process'];

/** Leftovers of an interrupted operation, from its first step to its last. */
const remains: readonly (readonly [name: string, spoil: (path: string) => void])[] = [
  ['a branch alone', path => git(path, 'branch', 'agenthub/t')],
  [
    'a folder without its git folder',
    path => mkdirSync(join(path, '.git/agenthub/worktrees/agenthub-t/src'), { recursive: true }),
  ],
  [
    'a git folder without its folder',
    path => {
      git(
        path,
        'worktree',
        'add',
        '--quiet',
        '-b',
        'agenthub/t',
        join(path, '.git/agenthub/worktrees/agenthub-t'),
      );
      rmSync(join(path, '.git/agenthub/worktrees/agenthub-t'), { recursive: true });
    },
  ],
  [
    'a git folder that is not complete',
    path => mkdirSync(join(path, '.git/worktrees/agenthub-t'), { recursive: true }),
  ],
  [
    'a worktree without its files',
    path => {
      const folder = join(path, '.git/agenthub/worktrees/agenthub-t');
      git(path, 'worktree', 'add', '--quiet', '--no-checkout', '-b', 'agenthub/t', folder);
      writeFileSync(join(path, '.git/worktrees/agenthub-t/index.lock'), '');
    },
  ],
];

/** Returns 100 files with this content. */
const manyFiles = (content: string) =>
  Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`many/${at}.txt`, content]));

describe.each(runners)('after a kill in a %s', runner => {
  let scene: Scene;
  let path: string;
  let repository: Repository;
  beforeAll(async () => {
    scene = createScene(runner);
    path = scene.create();
    repository = await scene.open(path);
  });
  afterAll(async () => {
    await scene?.[Symbol.asyncDispose]();
  });

  test.each(remains)('%s is detected, and a worktree is made of it', async (_name, spoil) => {
    spoil(path);
    scene.giveAway(path);
    expect(await repository.worktrees.find('t', signal)).toBeUndefined();
    const { head = '' } = await repository.summary(signal);
    const worktree = await repository.worktrees.add('t', head, signal);
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(await worktree.changes(head, signal)).toEqual([]);
    await repository.worktrees.remove('t', signal);
    git(path, 'branch', '--quiet', '-D', 'agenthub/t');
  });

  test('prune removes such remains, but no worktree of the user or of a task', async () => {
    const kept = await workOn(repository, 'kept', { 'k.txt': 'k\n' });
    const outside = join(scene.home, `mine-${runner}`);
    git(path, 'worktree', 'add', '--quiet', '-b', 'mine', outside);
    for (const [, spoil] of remains.slice(2, 3)) spoil(path);
    scene.giveAway(path);
    await repository.worktrees.prune(signal);
    const listed = git(path, 'worktree', 'list');
    expect(listed).toContain(outside);
    expect(listed).toContain(kept.path);
    expect(listed).not.toContain('agenthub-t ');
    expect(
      git(path, 'branch', '--list', 'agenthub/*')
        .split(/[\s+*]+/)
        .filter(Boolean),
    ).toEqual(['agenthub/kept', 'agenthub/t']);
  });

  test('locks of a worktree are removed when it is opened again', async () => {
    await workOn(repository, 'locked', { 'l.txt': 'l\n' });
    writeFileSync(join(path, '.git/worktrees/agenthub-locked/index.lock'), '');
    writeFileSync(join(path, '.git/worktrees/agenthub-locked/HEAD.lock'), '');
    writeFileSync(join(path, '.git/refs/heads/agenthub/locked.lock'), '');
    scene.giveAway(path);
    const found = await repository.worktrees.find('locked', signal);
    if (!found) throw new Error('it is there');
    await writeInto(found, { 'l.txt': 'more\n' });
    await found.commit({ message: 'More' }, signal);
    // Locks of the user stay, because another git process may hold them.
    writeFileSync(join(path, '.git/index.lock'), '');
    expect(await failureOf(mergeInto(repository, { from: 'agenthub/locked' }))).toContain(
      `If no git process runs there, remove ${path}/.git/index.lock`,
    );
    rmSync(join(path, '.git/index.lock'));
  });

  test('a worktree that a person has removed is created again from its branch', async () => {
    const worktree = await workOn(repository, 'gone', { 'g.txt': 'g\n' });
    rmSync(worktree.path, { recursive: true });
    expect(await repository.worktrees.find('gone', signal)).toBeUndefined();
    const { head = '' } = await repository.summary(signal);
    const again = await repository.worktrees.add('gone', head, signal);
    expect(readFileSync(join(again.path, 'g.txt'), 'utf8')).toBe('g\n');
  });

  test('a merge that has updated the files is completed', async () => {
    const worktree = await workOn(repository, 'merging', { 'm.txt': 'm\n' });
    const target = await worktree.head(signal);
    git(path, 'read-tree', '-m', '-u', 'HEAD', target);
    scene.giveAway(path);
    expect(await mergeInto(repository, { from: 'agenthub/merging' })).toEqual({
      kind: 'merged',
      commit: target,
    });
    expect(git(path, 'status', '--porcelain')).toBe('');
  });

  test('an unfinished operation of the user is not changed', async () => {
    await workOn(repository, 'waiting', { 'w.txt': 'w\n' });
    writeFiles(path, { '.git/MERGE_HEAD': `${git(path, 'rev-parse', 'HEAD')}\n` });
    scene.giveAway(path);
    expect(await mergeInto(repository, { from: 'agenthub/waiting' })).toEqual({
      kind: 'dirty',
      folder: path,
      paths: ['a merge'],
    });
    rmSync(join(path, '.git/MERGE_HEAD'));
  });

  test('the driver is replaced, and its operation fails', async () => {
    const signals = new AbortController();
    const own = await scene.open(path);
    if (runner === 'docker') {
      const filters = JSON.stringify({ label: [`io.agenthub.hub=${scene.hub.id}`] });
      for (const { Id } of await docker.listContainers({ filters }))
        await docker.getContainer(Id).kill();
    } else {
      const pids = execFileSync('pgrep', ['-f', `driver.mjs ${path}$`], { encoding: 'utf8' });
      for (const pid of pids.trim().split('\n')) process.kill(Number(pid), 'SIGKILL');
    }
    expect(await failureOf(own.summary(signals.signal))).toMatch(
      /^HUB_GIT_FAILED: .* git has ended/,
    );
    const again = await scene.open(path);
    expect(await again.summary(signal)).toMatchObject({ branch: 'main' });
  });

  test('a merge that is cancelled while it updates files of the user is not left half done', async () => {
    const many = scene.create(manyFiles('before\n'));
    const own = await scene.open(many);
    await workOn(own, 't', manyFiles('after\n'.repeat(40_000)));
    const ending = new AbortController();
    const watching = watch(join(many, 'many'), () => ending.abort());
    await failureOf(
      own.merge(
        { from: 'agenthub/t', into: 'main', strategy: 'merge_commit', message: 'Merge' },
        ending.signal,
      ),
    );
    watching.close();
    expect(ending.signal.aborted).toBe(true);
    expect(git(many, 'status', '--porcelain')).toBe('');
  });

  test('a merge whose branch moves meanwhile is made again', async () => {
    const many = scene.create(manyFiles('before\n'));
    const own = await scene.open(many);
    await workOn(own, 't', manyFiles('after\n'.repeat(10_000)));
    const mine = git(many, 'commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'mine');
    const watching = watch(join(many, 'many'), () => {
      git(many, 'update-ref', 'refs/heads/main', mine);
      watching.close();
    });
    expect(await mergeInto(own, { from: 'agenthub/t' })).toMatchObject({ kind: 'merged' });
    expect(git(many, 'log', '--first-parent', '--format=%s')).toBe('Merge\nmine\nfirst');
    expect(git(many, 'status', '--porcelain')).toBe('');
  });

  test('a cancelled operation ends, and the next one runs', async () => {
    const own = await scene.open(path);
    const ending = new AbortController();
    const running = failureOf(own.worktrees.prune(ending.signal));
    ending.abort();
    expect(await running).toContain('HUB_CALL_CANCELLED');
    await own.worktrees.prune(signal);
  });
});

test('of the commands that run when the hub has gone, git finishes those that must finish', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'driver-'));
  const driver = spawn(process.execPath, [join(imagesDir, 'git', 'driver.mjs'), folder.path], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const requests = [false, true].map((finishes, id) => {
    const args = ['-c', `alias.slow=!sleep 1 && touch ${finishes}`, 'slow'];
    const params = { args, env: {}, maxBytes: 1_000, timeoutMs: 20_000, finishes };
    return `${JSON.stringify({ jsonrpc: '2.0', id, method: 'git', params })}\n`;
  });
  driver.stdin.end(requests.join(''));
  await once(driver, 'exit');
  expect(readdirSync(folder.path)).toEqual(['true']);
});

test.runIf(process.platform === 'linux')(
  'a driver of a hub with a low priority keeps it, as a user cannot raise it',
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'driver-'));
    const isRoot = process.getuid?.() === 0;
    const without = isRoot ? ['setpriv', '--bounding-set=-sys_nice'] : [];
    const program = [process.execPath, join(imagesDir, 'git', 'driver.mjs'), folder.path];
    const driver = spawn('nice', ['-n', '10', ...without, ...program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    driver.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'place' })}\n`);
    expect(await text(driver.stdout)).toContain('"inode"');
  },
);

test('git that must finish outlives the process group of its driver', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'driver-'));
  const driver = spawn(process.execPath, [join(imagesDir, 'git', 'driver.mjs'), folder.path], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const args = ['-c', 'alias.slow=!touch begun && sleep 1 && touch done', 'slow'];
  const params = { args, env: {}, maxBytes: 1_000, timeoutMs: 20_000, finishes: true };
  driver.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'git', params })}\n`);
  await until(() => existsSync(join(folder.path, 'begun')));
  process.kill(-Number(driver.pid), 'SIGKILL');
  await once(driver, 'exit');
  await until(() => existsSync(join(folder.path, 'done')));
});

test.runIf(engineAvailable())(
  'a container of git that a killed hub left is removed by the next run',
  async () => {
    const scene = createScene('docker');
    const repository = await scene.open(scene.create());
    await using next = createHub({ hubId: scene.hub.id });
    expect((await scene.hub.leftovers()).filter(name => name.includes('.git-'))).toHaveLength(1);
    await next.runtime.start(signal);
    expect(await scene.hub.leftovers()).toEqual([]);
    expect(await failureOf(repository.summary(signal))).toContain('git has ended');
    await scene[Symbol.asyncDispose]();
  },
);
