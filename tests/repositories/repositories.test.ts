import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engineAvailable } from '#helpers/engine';
import type { Repository } from '#repositories';
import {
  type Runner,
  type Scene,
  createScene,
  failureOf,
  filesOf,
  git,
  mergeInto,
  readText,
  signal,
  textOf,
  workOn,
  writeFiles,
  writeInto,
} from './harness.ts';

const runners: readonly Runner[] = engineAvailable() ? ['docker', 'process'] : ['process'];

describe.each(runners)('repositories in a %s', runner => {
  let scene: Scene;
  let path: string;
  let repository: Repository;
  beforeAll(async () => {
    scene = createScene(runner);
    path = scene.create({
      'a.txt': 'one\n',
      'src/b.ts': 'export const b = 1;\n',
      'bin/run': '#!/bin/sh\n',
      'image.png': new Uint8Array([1, 0, 2]),
      'big.txt': 'x'.repeat(3_000),
    });
    repository = await scene.open(path);
  });
  afterAll(async () => {
    await scene?.[Symbol.asyncDispose]();
  });
  const headOf = async () => (await repository.summary(signal)).head ?? '';

  test('return branch and head', async () => {
    expect(await repository.summary(signal)).toEqual({
      branch: 'main',
      head: git(path, 'rev-parse', 'HEAD'),
    });
  });

  test('take line separators of Unicode in messages and paths, which Node reads as the end of a line', async () => {
    const separated = 'one\u2028two\u2029three';
    const one = await workOn(repository, 'separators', { 'a.txt': 'two\n' });
    await writeInto(one, { [separated]: `${separated}\n` });
    const commit = await one.commit({ message: separated }, signal);
    if (commit === undefined) throw new Error('nothing was committed');
    const [read] = await repository.readFiles(commit, [separated], { fileBytes: 100 }, signal);
    expect(read && textOf(read)).toBe(`${separated}\n`);
    expect(git(path, 'log', '-1', '--format=%s', commit)).toBe(separated);
    await repository.worktrees.remove('separators', signal);
  });

  test('list and read the files of a commit', async () => {
    const head = await headOf();
    const files = await repository.files(head, signal);
    expect(files.map(({ path: name, mode, bytes }) => [name, mode, bytes])).toEqual([
      ['a.txt', 'file', 4],
      ['big.txt', 'file', 3_000],
      ['bin/run', 'file', 10],
      ['image.png', 'file', 3],
      ['src/b.ts', 'file', 20],
    ]);
    const wanted = ['src/b.ts', 'nothing', 'image.png', 'big.txt', 'a.txt', 'src'];
    const read = await repository.readFiles(head, wanted, { fileBytes: 1_000 }, signal);
    expect(read.map(textOf)).toEqual([
      'export const b = 1;\n',
      '(missing)',
      '(binary)',
      '(omitted)',
      'one\n',
      '(missing)',
    ]);
  });

  test('make a change in a worktree, and merge it', async () => {
    const head = await headOf();
    const worktree = await repository.worktrees.add('t-1', head, signal);
    await writeInto(worktree, { 'src/new/c.ts': 'c\n', 'a.txt': 'two\n', 'big.txt': undefined });
    const changes = [
      { path: 'a.txt', status: 'modified', mode: 'file' },
      { path: 'big.txt', status: 'deleted', mode: 'file' },
      { path: 'src/new/c.ts', status: 'added', mode: 'file' },
    ];
    expect(await worktree.changes(head, signal)).toEqual(changes);
    const trailers = { Task: 't-1', Model: 'small\nother' };
    const commit = await worktree.commit({ message: 'Change it', trailers }, signal);
    expect(await worktree.head(signal)).toBe(commit);
    expect(await repository.changes({ from: head, to: commit }, signal)).toEqual(changes);
    const { text } = await repository.diff({ from: head, to: commit }, signal);
    expect(text).toContain('-one\n+two\n');
    expect(git(path, 'log', '--format=%H %an %s', `${head}..${commit}`)).toBe(
      `${commit} AgentHub Change it`,
    );
    expect(await repository.trailers(commit, signal)).toEqual({
      Task: 't-1',
      Model: 'small other',
    });
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(await mergeInto(repository, { from: 'agenthub/t-1' })).toEqual({
      kind: 'merged',
      commit,
    });
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\n');
    expect(filesOf(path)).toEqual([
      'a.txt',
      'bin',
      'bin/run',
      'image.png',
      'src',
      'src/b.ts',
      'src/new',
      'src/new/c.ts',
    ]);
    expect(git(path, 'status', '--porcelain')).toBe('');
    expect(await repository.worktrees.remove('t-1', signal)).toBe(true);
    expect(git(path, 'worktree', 'list').split('\n')).toHaveLength(1);
  });

  test('hide the handoff folder from git', async () => {
    await repository.handoff.write([{ path: 'x/TASK.json', content: '{}' }], signal);
    expect(await readText(repository.handoff, 'x/TASK.json')).toBe('{}');
    expect(await repository.handoff.create({ path: 'x/TASK.json', content: '' }, signal)).toBe(
      false,
    );
    expect(readFileSync(join(path, '_handoff/x/TASK.json'), 'utf8')).toBe('{}');
    expect(git(path, 'status', '--porcelain')).toBe('');
    expect(await failureOf(repository.handoff.read('x/TASK.json', 1, signal))).toMatch(
      /^HUB_REPOSITORY_LIMIT: .*x\/TASK\.json has 2 bytes, and may have 1\. Shorten it$/,
    );
    await repository.handoff.remove(['x/TASK.json'], signal);
    expect(await repository.handoff.list(signal)).toEqual([]);
  });

  test('keep the bytes of .git/info/exclude, whatever their encoding', async () => {
    const own = scene.create({ 'a.txt': 'exclude\n' });
    const before = Buffer.from('caf\xe9.txt', 'latin1');
    writeFiles(own, { '.git/info/exclude': before });
    scene.giveAway(own);
    await using opened = await scene.open(own);
    await opened.handoff.write([{ path: 'x', content: '' }], signal);
    expect(readFileSync(join(own, '.git/info/exclude'))).toEqual(
      Buffer.concat([before, Buffer.from('\n/_handoff/\n')]),
    );
  });

  test('leave everything unchanged when branches conflict', async () => {
    await workOn(repository, 't-2', { 'a.txt': 'mine\n' });
    writeFiles(path, { 'a.txt': 'theirs\n' });
    git(path, 'commit', '--quiet', '--all', '--message=theirs');
    scene.giveAway(path);
    const before = git(path, 'rev-parse', 'main');
    expect(await mergeInto(repository, { from: 'agenthub/t-2' })).toEqual({
      kind: 'conflict',
      paths: ['a.txt'],
    });
    expect(git(path, 'rev-parse', 'main')).toBe(before);
    expect(git(path, 'status', '--porcelain')).toBe('');
  });

  test('distinguish a branch from a tag of the same name', async () => {
    const place = scene.create();
    git(place, 'tag', 'main');
    scene.giveAway(place);
    await using tagged = await scene.open(place);
    const { branch } = await tagged.summary(signal);
    expect(branch).toBe('main');
    await workOn(tagged, 't', { 'b.txt': 'b\n' });
    expect(await mergeInto(tagged, { from: 'agenthub/t', into: branch ?? '' })).toMatchObject({
      kind: 'merged',
    });
  });

  test('never change a tree with uncommitted changes', async () => {
    await workOn(repository, 't-3', { 'src/b.ts': 'b\n' });
    writeFiles(path, { 'a.txt': 'not committed\n' });
    scene.giveAway(path);
    expect(await mergeInto(repository, { from: 'agenthub/t-3' })).toEqual({
      kind: 'dirty',
      folder: path,
      paths: ['a.txt'],
    });
    git(path, 'checkout', '--quiet', '--', 'a.txt');
    writeFiles(path, { 'other.txt': 'untracked\n' });
    await workOn(repository, 't-4', { 'other.txt': 'from the task\n' });
    expect(await mergeInto(repository, { from: 'agenthub/t-4' })).toMatchObject({
      kind: 'dirty',
      paths: ['other.txt'],
    });
    writeFiles(path, { '.git/info/exclude': 'ignored/\nother.txt\n', 'ignored/x': 'ignored\n' });
    scene.giveAway(path);
    expect(await mergeInto(repository, { from: 'agenthub/t-4' })).toMatchObject({
      kind: 'dirty',
      paths: ['other.txt'],
    });
    await workOn(repository, 't-4b', { ignored: 'a file in the place of a folder\n' });
    expect(await mergeInto(repository, { from: 'agenthub/t-4b' })).toMatchObject({
      kind: 'dirty',
      paths: ['ignored'],
    });
    // The user told git to ignore changes of this file.
    git(path, 'update-index', '--skip-worktree', 'a.txt');
    writeFiles(path, { 'a.txt': 'not committed\n' });
    scene.giveAway(path);
    await workOn(repository, 't-4c', { 'a.txt': 'from the task\n', 'new.txt': 'new\n' });
    expect(await mergeInto(repository, { from: 'agenthub/t-4c' })).toMatchObject({
      kind: 'dirty',
      paths: [
        'a.txt (git status hides it: run git update-index --no-assume-unchanged --no-skip-worktree)',
      ],
    });
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('not committed\n');
    git(path, 'update-index', '--no-skip-worktree', 'a.txt');
    git(path, 'checkout', '--quiet', '--', 'a.txt');
    expect(readFileSync(join(path, 'other.txt'), 'utf8')).toBe('untracked\n');
    expect(readFileSync(join(path, 'ignored/x'), 'utf8')).toBe('ignored\n');
    writeFiles(path, { '.git/info/exclude': '' });
  });

  test('put a file in the place of a folder, unless that has other files than those that leave', async () => {
    const own = scene.create({ 'a/one.txt': '1\n', 'a/b/two.txt': '2\n', '.gitignore': '*.log\n' });
    writeFiles(own, { 'a/b/mine.log': 'ignored\n' });
    scene.giveAway(own);
    await using opened = await scene.open(own);
    const instead = { 'a/one.txt': undefined, 'a/b/two.txt': undefined, a: 'file\n' };
    await workOn(opened, 't-file', instead);
    expect(await mergeInto(opened, { from: 'agenthub/t-file' })).toMatchObject({
      kind: 'dirty',
      paths: ['a/b/mine.log'],
    });
    expect(readFileSync(join(own, 'a/b/mine.log'), 'utf8')).toBe('ignored\n');
    rmSync(join(own, 'a/b/mine.log'));
    expect(await mergeInto(opened, { from: 'agenthub/t-file' })).toMatchObject({ kind: 'merged' });
    expect(readFileSync(join(own, 'a'), 'utf8')).toBe('file\n');
    expect(git(own, 'status', '--porcelain')).toBe('');
  });

  test('make a merge commit if one is requested, or the base has moved on', async () => {
    git(path, 'checkout', '--quiet', '--detach');
    scene.giveAway(path);
    await workOn(repository, 't-5', { 'five.txt': '5\n' });
    await mergeInto(repository, { from: 'agenthub/t-5', strategy: 'merge_commit' });
    expect(git(path, 'log', '-1', '--format=%s %an', 'main')).toBe('Merge AgentHub');
    expect(git(path, 'rev-list', '--parents', '-1', 'main').split(' ')).toHaveLength(3);
    expect(await mergeInto(repository, { from: 'agenthub/t-3' })).toMatchObject({ kind: 'merged' });
    expect(git(path, 'rev-list', '--parents', '-1', 'main').split(' ')).toHaveLength(3);
    const again = await mergeInto(repository, { from: 'agenthub/t-3' });
    expect(again).toEqual({ kind: 'merged', commit: git(path, 'rev-parse', 'main') });
  });

  test('roll a worktree back', async () => {
    const worktree = await workOn(repository, 't-6', { 'six.txt': '6\n' });
    const before = git(path, 'rev-parse', `${await worktree.head(signal)}^`);
    await writeInto(worktree, { 'more.txt': 'more\n' });
    await worktree.reset(before, signal);
    expect(await worktree.head(signal)).toBe(before);
    expect(await worktree.changes(before, signal)).toEqual([]);
    expect(filesOf(worktree.path)).not.toContain('more.txt');
  });

  test('read the files beside a submodule, which has no content', async () => {
    const other = scene.create({ 'one.txt': '1\n', 'two.txt': '2\n' });
    // The commit belongs to another repository.
    const module = `160000,${'1'.repeat(40)},module`;
    git(other, 'update-index', '--add', '--cacheinfo', module);
    git(other, 'commit', '--quiet', '--message=module');
    scene.giveAway(other);
    await using opened = await scene.open(other);
    const worktree = await workOn(opened, 't-module', {});
    const read = await worktree.readFiles(['one.txt', 'module', 'two.txt'], {}, signal);
    expect(read.map(textOf)).toEqual(['1\n', '(omitted)', '2\n']);
  });

  test('return the worktree of a task that has one, and none that was removed', async () => {
    const first = await workOn(repository, 't-7', { 'seven.txt': '7\n' });
    const again = await repository.worktrees.add('t-7', await headOf(), signal);
    expect(await again.head(signal)).toBe(await first.head(signal));
    const read = await again.readFiles(['seven.txt', 'nothing'], {}, signal);
    expect(read.map(textOf)).toEqual(['7\n', '(missing)']);
    await repository.worktrees.remove('t-7', signal);
    expect(await repository.worktrees.find('t-7', signal)).toBeUndefined();
    expect(git(path, 'branch', '--list', 'agenthub/t-7')).toContain('agenthub/t-7');
  });

  test('search additions for secrets, however large deleted files are', async () => {
    const own = scene.create({ 'large.bin': 'text\n'.repeat(2 ** 20), 'a.txt': 'one\n' });
    await using opened = await scene.open(own);
    const { head = '' } = await opened.summary(signal);
    const worktree = await opened.worktrees.add('t', head, signal);
    await writeInto(worktree, { 'large.bin': undefined, 'a.txt': `AKIA${'J3QX7ZK2M5TB9WLD'}\n` });
    expect(await worktree.secrets(head, signal)).toMatchObject([{ path: 'a.txt', line: 1 }]);
  });

  test('say what to do where a change is too large to be searched for secrets', async () => {
    const own = scene.create({ 'large.txt': 'text\n'.repeat(2 ** 20) });
    await using opened = await scene.open(own);
    const { head = '' } = await opened.summary(signal);
    const worktree = await opened.worktrees.add('t', head, signal);
    await writeInto(worktree, { 'large.txt': 'small\n' });
    expect(await failureOf(worktree.secrets(head, signal))).toBe(
      'HUB_REPOSITORY_LIMIT: the change adds and replaces more than 4194304 bytes, which the hub does not search for secrets. Split the task, or make this change yourself',
    );
  });

  test.each([
    ['agenthub', 'agenthub/t'],
    ['agenthub/t/more', 'agenthub/t'],
  ])('name the branch %s, which is in the way of %s', async (inTheWay, wanted) => {
    const own = scene.create();
    git(own, 'branch', inTheWay);
    scene.giveAway(own);
    await using opened = await scene.open(own);
    const { head = '' } = await opened.summary(signal);
    expect(await failureOf(opened.worktrees.add('t', head, signal))).toBe(
      `HUB_REPOSITORY_REFUSED: ${own}: git cannot have the branches ${inTheWay} and ${wanted} at the same time. Rename the first: git branch -m ${inTheWay} NEW_NAME`,
    );
    git(own, 'branch', '-m', inTheWay, 'renamed');
    expect(await opened.worktrees.add('t', head, signal)).toMatchObject({ branch: wanted });
  });

  test.runIf(runner === 'docker' && process.getuid?.() === 0)(
    'name the remedy where files belong to another user, as after a commit of root',
    async () => {
      const own = scene.create();
      await using opened = await scene.open(own);
      const { head = '' } = await opened.summary(signal);
      const worktree = await opened.worktrees.add('t', head, signal);
      for (const folder of Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0')))
        mkdirSync(join(own, '.git/objects', folder), { recursive: true });
      execFileSync('chown', ['-R', '0:0', join(own, '.git/objects')]);
      expect(await failureOf(writeInto(worktree, { 'a.txt': 'two\n' }))).toMatch(
        new RegExp(`insufficient permission.*belong to another user: give all of ${own} to`, 's'),
      );
    },
  );

  test('find secrets in additions, and never show them', async () => {
    const worktree = await workOn(repository, 't-8', {
      'k.env': `A=1\nAPI_TOKEN="zQ8vK2mR9xT4wL7p"\n\0`,
      '.gitattributes': '* -diff\n',
    });
    const findings = await worktree.secrets(await headOf(), signal);
    expect(findings).toEqual([{ path: 'k.env', line: 2, what: 'a value of API_TOKEN' }]);
  });

  test('show and merge changes regardless of the attributes in checked-out files', async () => {
    const other = scene.create({ 'a.txt': '1\n2\n3\n', '.gitattributes': '* -diff -merge\n' });
    scene.giveAway(other);
    await using opened = await scene.open(other);
    const [one, two] = [
      await workOn(opened, 't-one', { 'a.txt': 'one\n2\n3\n' }),
      await workOn(opened, 't-two', { 'a.txt': '1\n2\nthree\n' }),
    ];
    const from = await opened.resolve('main', signal);
    const { text } = await opened.diff({ from, to: await one.head(signal) }, signal);
    expect(text).toContain('-1\n+one\n');
    await mergeInto(opened, { from: 'agenthub/t-one' });
    expect(await mergeInto(opened, { from: 'agenthub/t-two' })).toMatchObject({ kind: 'merged' });
    await two.reset(await opened.resolve('main', signal), signal);
    expect((await two.readFiles(['a.txt'], {}, signal)).map(textOf)).toEqual(['one\n2\nthree\n']);
  });

  test('show the text that replaces a binary file', async () => {
    const own = scene.create({ 'a b.ts': Buffer.from('old\0'), 'c.bin': Buffer.from('c\0') });
    await using opened = await scene.open(own);
    const { head: from = '' } = await opened.summary(signal);
    const worktree = await workOn(opened, 't', { 'a b.ts': 'one\ntwo', 'c.bin': 'd\0' });
    const to = await worktree.head(signal);
    const { text, isTruncated } = await opened.diff({ from, to }, signal);
    expect(text.split('\n').filter(line => !/^(?:diff|index) /.test(line))).toEqual([
      'Binary files a/a b.ts and b/a b.ts differ',
      '--- a/a b.ts',
      '+++ b/a b.ts',
      '@@ -0,0 +1,2 @@',
      '+one',
      '+two',
      'Binary files a/c.bin and b/c.bin differ',
      '',
    ]);
    expect(isTruncated).toBe(false);
    await writeInto(worktree, { 'a b.ts': 'x\n'.repeat(500) });
    const long = await worktree.commit({ message: 'long' }, signal);
    expect(await opened.diff({ from, to: long, maxBytes: 400 }, signal)).toMatchObject({
      text: expect.stringContaining('+x\n'),
      isTruncated: true,
    });
  });

  test('merge the deletion of a file with a filter, and no change of one', async () => {
    const files = { '.gitattributes': '*.bin filter=lfs\n', 'a.bin': 'a\n', 'b.bin': 'b\n' };
    const own = scene.create(files);
    await using opened = await scene.open(own);
    await workOn(opened, 'one', { 'a.bin': undefined });
    expect(await mergeInto(opened, { from: 'agenthub/one' })).toMatchObject({ kind: 'merged' });
    expect(filesOf(own)).toEqual(['.gitattributes', 'b.bin']);
    await workOn(opened, 'two', { 'b.bin': 'two\n' });
    await expect(mergeInto(opened, { from: 'agenthub/two' })).rejects.toThrow(
      'b.bin has the filter lfs',
    );
  });

  test('refuse a folder that is no repository, and a bare repository', async () => {
    const plain = mkdtempSync(join(scene.home, 'plain-'));
    await expect(scene.open(plain)).rejects.toThrow(
      `${plain} is not the top folder of a git repository: it has no .git folder. Run git init there, or name the top folder`,
    );
    git(plain, 'init', '--quiet', '--bare');
    scene.giveAway(plain);
    await expect(scene.open(plain)).rejects.toThrow(
      `${plain} is a bare repository, which has no files. Make a clone of it with git clone, and name that`,
    );
  });

  test('refuse names that are not ids, branches or commits', async () => {
    const { worktrees } = repository;
    const head = await headOf();
    expect(await failureOf(worktrees.add('../x', head, signal))).toContain('HUB_REQUEST_INVALID');
    expect(await failureOf(worktrees.add('x', '--force', signal))).toContain('HUB_REQUEST_INVALID');
    expect(await failureOf(repository.resolve('--all', signal))).toContain(
      'HUB_REPOSITORY_UNKNOWN',
    );
    expect(await failureOf(repository.files('HEAD', signal))).toContain('HUB_REQUEST_INVALID');
    expect(await failureOf(mergeInto(repository, { from: '-x' }))).toContain('HUB_REQUEST_INVALID');
    expect(await repository.resolve('main', signal)).toBe(git(path, 'rev-parse', 'main'));
  });
});
