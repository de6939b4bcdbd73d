import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engineAvailable } from '#helpers/engine';
import type { Repository } from '#repositories';
import {
  type Runner,
  type Scene,
  anyPath,
  createScene,
  failureOf,
  git,
  mergeInto,
  signal,
  textOf,
  workOn,
  writeFiles,
  writeInto,
} from './harness.ts';

const runners: readonly Runner[] = engineAvailable() ? ['docker', 'process'] : ['process'];

/** Performs every operation of the hub on a repository, so that every program that git could run gets the chance. */
async function useAll(repository: Repository): Promise<void> {
  const { head = '' } = await repository.summary(signal);
  await repository.files(head, signal);
  await repository.readFiles(head, ['a.txt', 'data.bin'], {}, signal);
  await repository.trailers(head, signal);
  const worktree = await repository.worktrees.add('t', head, signal);
  await writeInto(worktree, { 'a.txt': 'changed\n', 'new.bin': 'new\n', 'data.bin': undefined });
  await worktree.changes(head, signal);
  await worktree.secrets(head, signal);
  await worktree.readFiles(['a.txt', 'new.bin'], {}, signal);
  const commit = await worktree.commit({ message: 'Change', trailers: { Task: 't' } }, signal);
  await repository.diff({ from: head, to: commit }, signal);
  await repository.changes({ from: head, to: commit }, signal);
  await worktree.reset(head, signal);
  await worktree.reset(commit, signal);
  await mergeInto(repository, { from: 'agenthub/t', strategy: 'merge_commit' });
  await repository.worktrees.remove('t', signal);
  await repository.worktrees.prune(signal);
}

describe.each(runners)('a hostile repository in a %s', runner => {
  let scene: Scene;
  beforeAll(() => {
    scene = createScene(runner);
  });
  afterAll(async () => {
    await scene?.[Symbol.asyncDispose]();
  });

  /** Creates a repository whose program creates the file `PWNED`. */
  function create(attributes = '') {
    const path = scene.create({
      'a.txt': 'one\n',
      'data.bin': 'data\n',
      ...(attributes !== '' && { '.gitattributes': attributes }),
    });
    const program = join(path, '.git', 'program');
    writeFileSync(program, `#!/bin/sh\ntouch ${path}/PWNED\ncat\n`);
    chmodSync(program, 0o755);
    return {
      path,
      program,
      set: (key: string, value = program) => git(path, 'config', key, value),
      isPwned: () => existsSync(join(path, 'PWNED')),
    };
  }

  test('runs no hook, monitor, filter, driver, signer or helper of its config', async () => {
    const repo = create('*.bin filter=evil diff=evil merge=evil\n*.txt diff=evil\n');
    mkdirSync(join(repo.path, '.git/hooks'), { recursive: true });
    for (const hook of [
      'post-checkout',
      'post-commit',
      'pre-commit',
      'post-index-change',
      'reference-transaction',
      'post-merge',
      'pre-merge-commit',
      'commit-msg',
      'post-rewrite',
      'fsmonitor-watchman',
    ]) {
      writeFileSync(join(repo.path, '.git/hooks', hook), readFileSync(repo.program));
      chmodSync(join(repo.path, '.git/hooks', hook), 0o755);
    }
    for (const key of [
      'core.fsmonitor',
      'core.sshCommand',
      'core.editor',
      'core.pager',
      'core.askPass',
      'core.gitProxy',
      'core.alternateRefsCommand',
      'sequence.editor',
      'pager.log',
      'pager.diff',
      'diff.external',
      'diff.evil.command',
      'diff.evil.textconv',
      'filter.evil.clean',
      'filter.evil.smudge',
      'filter.evil.process',
      'merge.evil.driver',
      'gpg.program',
      'gpg.ssh.program',
      'credential.helper',
      'trailer.task.command',
      'trailer.task.cmd',
      'interactive.diffFilter',
      'uploadpack.packObjectsHook',
    ])
      repo.set(key);
    repo.set('core.hooksPath', join(repo.path, '.git/hooks'));
    repo.set('filter.evil.required', 'true');
    repo.set('filter.e=v il.clean');
    repo.set('merge.default', 'evil');
    repo.set('commit.gpgSign', 'true');
    repo.set('log.showSignature', 'true');
    repo.set('gc.auto', '1');
    repo.set('alias.status', `!${repo.program}`);
    repo.set('alias.log', `!${repo.program}`);
    repo.set('protocol.ext.allow', 'always');
    repo.set('remote.origin.url', `ext::${repo.program}`);
    writeFileSync(join(repo.path, '.git/info/attributes'), '* filter=evil diff=evil merge=evil\n');
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    const failure = await failureOf(useAll(repository));
    // The filter is required, so files of the user are not updated without it.
    expect(failure).toMatch(
      /^HUB_REPOSITORY_REFUSED: .* has the filter evil, which does not run here/,
    );
    expect(repo.isPwned()).toBe(false);
  });

  test.each(['.git/hooks', '.git/hooks/reference-transaction'])(
    'is opened with %s as a link, and runs no hook by it',
    async link => {
      const repo = create();
      const hook = 'hooks/reference-transaction';
      writeFiles(repo.path, { [hook]: readFileSync(repo.program) });
      chmodSync(join(repo.path, hook), 0o755);
      rmSync(join(repo.path, link), { recursive: true, force: true });
      symlinkSync(join(repo.path, link.replace('.git/', '')), join(repo.path, link));
      scene.giveAway(repo.path);
      const repository = await scene.open(repo.path);
      expect(await failureOf(useAll(repository))).toBe('no failure');
      expect(repo.isPwned()).toBe(false);
    },
  );

  test('runs nothing by a worktree that it contains, and moves no branch with it', async () => {
    const repo = create('*.bin filter=evil\n');
    const folder = join(repo.path, '.git/agenthub/worktrees/agenthub-t');
    git(repo.path, 'worktree', 'add', '--quiet', '-b', 'agenthub/t', folder);
    writeFiles(repo.path, { '.git/agenthub/ready/t': '' });
    repo.set('extensions.worktreeConfig', 'true');
    git(folder, 'config', '--worktree', 'filter.evil.clean', repo.program);
    git(folder, 'config', '--worktree', 'filter.evil.smudge', repo.program);
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    const { head = '' } = await repository.summary(signal);
    const worktree = await repository.worktrees.add('t', head, signal);
    writeFiles(folder, { 'data.bin': 'other\n' });
    await worktree.changes(head, signal);
    await worktree.reset(head, signal);
    expect(repo.isPwned()).toBe(false);
    writeFiles(repo.path, { '.git/worktrees/agenthub-t/HEAD': 'ref: refs/heads/main\n' });
    expect(await failureOf(repository.worktrees.find('t', signal))).toContain(
      'does not have the branch agenthub/t checked out',
    );
    expect(await repository.worktrees.remove('t', signal)).toBe(true);
  });

  test('moves no branch by a symbolic ref', async () => {
    const repo = create();
    git(repo.path, 'symbolic-ref', 'refs/heads/agenthub/t', 'refs/heads/main');
    git(repo.path, 'switch', '--quiet', '--create', 'dev');
    const main = git(repo.path, 'rev-parse', 'main');
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    expect(await failureOf(workOn(repository, 't', { 'a.txt': 'two\n' }))).toMatch(
      /^HUB_REPOSITORY_REFUSED: .* does not have the branch agenthub\/t checked out, but refs\/heads\/main/,
    );
    expect(git(repo.path, 'rev-parse', 'main')).toBe(main);
  });

  test('runs no merge driver of its config', async () => {
    const repo = create('a.txt merge=evil\n');
    repo.set('merge.evil.driver', `${repo.program} %A`);
    writeFileSync(join(repo.path, '.git/info/attributes'), 'a.txt merge=evil\n');
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    await workOn(repository, 't', { 'a.txt': 'zero\none\n' });
    writeFiles(repo.path, { 'a.txt': 'one\ntwo\n' });
    git(repo.path, 'commit', '--quiet', '--all', '--message=two');
    scene.giveAway(repo.path);
    expect(await mergeInto(repository, { from: 'agenthub/t' })).toEqual({
      kind: 'conflict',
      paths: ['a.txt'],
    });
    expect(repo.isPwned()).toBe(false);
  });

  test('hides no text from a diff by its config', async () => {
    const repo = create();
    repo.set('core.bigFileThreshold', '1');
    repo.set('diff.evil.binary', 'true');
    writeFileSync(join(repo.path, '.git/info/attributes'), 'data.bin diff=evil\n');
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    const { head = '' } = await repository.summary(signal);
    const worktree = await workOn(repository, 't', { 'a.txt': 'two\n', 'data.bin': 'other\n' });
    const to = await worktree.head(signal);
    const { text } = await repository.diff({ from: head, to }, signal);
    expect(text.split('\n').filter(line => /^[+-][^+-]/.test(line))).toEqual([
      '-one',
      '+two',
      '-data',
      '+other',
    ]);
  });

  test('cannot make the hub write outside by links among its files', async () => {
    const outside = join(scene.home, 'outside');
    mkdirSync(outside, { recursive: true });
    const path = scene.create();
    symlinkSync(outside, join(path, 'out'));
    symlinkSync(join(outside, 'file'), join(path, 'link'));
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=links');
    symlinkSync(outside, join(path, '_handoff'));
    scene.giveAway(path);
    const repository = await scene.open(path);
    const { head = '' } = await repository.summary(signal);
    const worktree = await repository.worktrees.add('t', head, signal);
    expect(await failureOf(writeInto(worktree, { 'out/x': 'x', link: 'x' }))).toBe(
      'HUB_PATH_FORBIDDEN: nothing was written: "link" is a symbolic link; "out/x" is below out, which is a symbolic link',
    );
    expect(await failureOf(writeInto(worktree, { 'a.txt/x': 'x' }))).toContain(
      'is below a.txt, which is a file',
    );
    await writeInto(worktree, { 'deep/x': 'x' });
    expect(await failureOf(writeInto(worktree, { deep: 'x' }))).toContain('"deep" is a folder');
    // A symbolic link on the disk in place of a folder of the index.
    renameSync(join(worktree.path, 'deep'), join(worktree.path, 'moved'));
    symlinkSync(outside, join(worktree.path, 'deep'));
    expect(await failureOf(writeInto(worktree, { 'deep/x': 'y' }))).toContain('HUB_PATH_FORBIDDEN');
    const read = await repository.readFiles(head, ['link', 'out'], {}, signal);
    expect(read.map(textOf)).toEqual(['(omitted)', '(omitted)']);
    expect(
      await failureOf(repository.handoff.write([{ path: 'x', content: 'x' }], signal)),
    ).toContain('HUB_PATH_REFUSED');
    expect(await failureOf(repository.handoff.read('x', 10, signal))).toContain('HUB_PATH_REFUSED');
    expect(existsSync(join(outside, 'x')) || existsSync(join(outside, 'file'))).toBe(false);
  });

  test('cannot make a submodule run or write anything', async () => {
    const path = scene.create();
    const url = scene.create();
    writeFiles(path, {
      '.gitmodules': `[submodule "module"]\n\tpath = module\n\turl = ${url}\n`,
      'module/a.txt': 'one\n',
    });
    git(join(path, 'module'), 'init', '--quiet');
    const commit = git(url, 'rev-parse', 'HEAD');
    git(path, 'update-index', '--add', '--cacheinfo', `160000,${commit},module`);
    git(path, 'add', '.gitmodules');
    git(path, 'commit', '--quiet', '--message=module');
    git(path, 'config', 'submodule.module.update', `!touch ${path}/PWNED`);
    git(path, 'config', 'submodule.recurse', 'true');
    scene.giveAway(path);
    const repository = await scene.open(path);
    const { head = '' } = await repository.summary(signal);
    expect((await repository.files(head, signal)).map(each => each.path)).toEqual([
      '.gitmodules',
      'a.txt',
    ]);
    const worktree = await repository.worktrees.add('t', head, signal);
    expect(await failureOf(writeInto(worktree, { 'module/x': 'x' }))).toContain(
      'is below module, which is a submodule',
    );
    expect(await failureOf(writeInto(worktree, { '.gitmodules': 'x' }))).toContain(
      'would define submodules',
    );
    await useAll(repository);
    expect(existsSync(join(path, 'PWNED'))).toBe(false);
    expect(existsSync(join(path, 'module/a.txt'))).toBe(true);
  });

  test('runs no program of the config of a submodule that it contains', async () => {
    const repo = create();
    const module = join(repo.path, 'module');
    writeFiles(repo.path, { 'module/b.bin': 'one\n', 'module/.gitattributes': '* filter=evil\n' });
    git(module, 'init', '--quiet');
    git(module, 'add', '--all');
    git(module, 'commit', '--quiet', '--message=module');
    git(repo.path, '-c', 'advice.addEmbeddedRepo=false', 'add', '--all');
    git(repo.path, 'commit', '--quiet', '--message=module');
    git(module, 'config', 'filter.evil.clean', repo.program);
    // Git compares files whose time differs from that in the index, and applies the filter to do so.
    writeFiles(module, { 'b.bin': 'two\n' });
    scene.giveAway(repo.path);
    await useAll(await scene.open(repo.path));
    expect(repo.isPwned()).toBe(false);
  });

  test('runs no program of a submodule in a worktree that it contains', async () => {
    const repo = create();
    const folder = join(repo.path, '.git/agenthub/worktrees/agenthub-t');
    git(repo.path, 'worktree', 'add', '--quiet', '-b', 'agenthub/t', folder);
    const module = join(folder, 'module');
    writeFiles(module, { 'b.bin': 'one\n', '.gitattributes': '* filter=evil\n' });
    git(module, 'init', '--quiet');
    git(module, 'add', '--all');
    git(module, 'commit', '--quiet', '--message=module');
    git(folder, '-c', 'advice.addEmbeddedRepo=false', 'add', '--all');
    git(folder, 'commit', '--quiet', '--message=module');
    git(module, 'config', 'filter.evil.clean', repo.program);
    writeFiles(module, { 'b.bin': 'two\n' });
    writeFiles(repo.path, { '.git/agenthub/ready/t': '' });
    scene.giveAway(repo.path);
    const repository = await scene.open(repo.path);
    const { head = '' } = await repository.summary(signal);
    const worktree = await repository.worktrees.add('t', head, signal);
    expect(await failureOf(worktree.changes(head, signal))).toMatch(
      /^HUB_REPOSITORY_REFUSED: .* the submodule module has files in a worktree of a task/,
    );
    await worktree.reset(head, signal);
    expect(repo.isPwned()).toBe(false);
  });

  test('keeps files of a submodule that becomes a file', async () => {
    const repo = create();
    const module = join(repo.path, 'module');
    writeFiles(module, { 'b.txt': 'one\n' });
    git(module, 'init', '--quiet');
    git(module, 'add', '--all');
    git(module, 'commit', '--quiet', '--message=module');
    git(repo.path, '-c', 'advice.addEmbeddedRepo=false', 'add', '--all');
    git(repo.path, 'commit', '--quiet', '--message=module');
    const blob = git(repo.path, 'rev-parse', 'HEAD:a.txt');
    git(repo.path, 'update-index', '--cacheinfo', `100644,${blob},module`);
    const tree = git(repo.path, 'write-tree');
    const commit = git(repo.path, 'commit-tree', '-p', 'HEAD', '-m', 'file', tree);
    git(repo.path, 'branch', 'agenthub/t', commit);
    git(repo.path, 'reset', '--quiet');
    writeFiles(module, { 'b.txt': 'two\n' });
    scene.giveAway(repo.path);
    expect(await mergeInto(await scene.open(repo.path), { from: 'agenthub/t' })).toEqual({
      kind: 'dirty',
      folder: repo.path,
      paths: ['module'],
    });
    expect(readFileSync(join(module, 'b.txt'), 'utf8')).toBe('two\n');
  });

  test('writes no path that leads outside or into a git folder', async () => {
    const repository = await scene.open(scene.create());
    const { head = '' } = await repository.summary(signal);
    const worktree = await repository.worktrees.add('t', head, signal);
    for (const path of ['../x', '/tmp/x', '.git/hooks/x', 'a/.GIT/x', 'git~1/x'])
      expect(await failureOf(writeInto(worktree, { [path]: 'x' })), path).toContain(
        'HUB_PATH_FORBIDDEN',
      );
    for (const path of ['../x', '/tmp/x', '.git/x', 'a/../../x'])
      expect(
        await failureOf(repository.handoff.write([{ path, content: 'x' }], signal)),
        path,
      ).toContain('HUB_PATH_REFUSED');
    const rules = { ...anyPath, allowed: ['src'] };
    expect(await failureOf(writeInto(worktree, { 'src/a': 'a', b: 'b' }, rules))).toBe(
      'HUB_PATH_FORBIDDEN: nothing was written: "b" is not in allowed_paths',
    );
    expect(await worktree.changes(head, signal)).toEqual([]);
  });
});

/** The driver detects these repositories, alike for both runners. */
describe('a repository that leads out of its folder', () => {
  let scene: Scene;
  beforeAll(() => {
    scene = createScene('process');
  });
  afterAll(async () => {
    await scene?.[Symbol.asyncDispose]();
  });

  test.each([
    ['include.path', '/etc/passwd', 'it includes another file'],
    ['includeIf.gitdir:/.path', '/etc/passwd', 'it includes another file'],
    ['hook.evil.command', 'touch PWNED', 'it has hooks in its config'],
    ['core.worktree', '/etc', 'its files are in another folder'],
    ['extensions.partialClone', 'origin', 'partial clone'],
    ['remote.origin.promisor', 'true', 'partial clone'],
  ])('is refused with %s', async (key, value, why) => {
    const path = scene.create();
    git(path, 'config', key, value);
    scene.giveAway(path);
    expect(await failureOf(scene.open(path))).toMatch(
      new RegExp(`^HUB_REPOSITORY_REFUSED: .*${why}`),
    );
  });

  test.each([
    [
      '.git that is a link',
      (path: string) => {
        renameSync(join(path, '.git'), join(path, 'real'));
        symlinkSync('real', join(path, '.git'));
      },
      '.git is a symbolic link',
    ],
    [
      '.git that is a file',
      (path: string) => {
        renameSync(join(path, '.git'), join(path, 'real'));
        writeFileSync(join(path, '.git'), 'gitdir: real\n');
      },
      '.git is a file',
    ],
    [
      'objects that are a link',
      (path: string) => {
        renameSync(join(path, '.git/objects'), join(path, 'objects'));
        symlinkSync('../objects', join(path, '.git/objects'));
      },
      '.git/objects is a symbolic link',
    ],
    [
      'a ref that is a link',
      (path: string) => {
        symlinkSync('/etc/hostname', join(path, '.git/refs/heads/evil'));
      },
      '.git/refs/heads/evil is a symbolic link',
    ],
    [
      'a folder of the hub that is a link',
      (path: string) => {
        symlinkSync('/tmp', join(path, '.git/agenthub'));
      },
      '.git/agenthub is a symbolic link',
    ],
    [
      'alternates',
      (path: string) => {
        writeFileSync(join(path, '.git/objects/info/alternates'), '/srv/other/.git/objects\n');
      },
      'it uses objects of another repository',
    ],
    [
      'a common folder elsewhere',
      (path: string) => {
        writeFileSync(join(path, '.git/commondir'), '/srv/other/.git\n');
      },
      '.git/commondir leads to another git folder',
    ],
  ])('is refused with %s', async (_name, spoil, why) => {
    const path = scene.create();
    spoil(path);
    scene.giveAway(path);
    expect(await failureOf(scene.open(path))).toMatch(
      new RegExp(`^HUB_REPOSITORY_REFUSED: .*${why}`),
    );
  });
});
