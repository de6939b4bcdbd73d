import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeText, silent, systemClock } from '#core';
import { caller } from '#helpers/principal';
import {
  type MergeOutcome,
  type MergeRequest,
  type PathRules,
  type ReadFile,
  type Repository,
  type SafeFolder,
  type Worktree,
  createRepositories,
} from '#repositories';
import { createProcessRuntime } from '#runtimes/process';
import { createHub, imagesDir } from '../runtimes/docker/hub.ts';
import { git, writeFiles } from './git.ts';

/** Signal for tests that cancel nothing. */
export const { signal } = new AbortController();

export const anyPath: PathRules = { allowed: [], forbidden: [] };

/** Owner of repositories in containers. Never root, if the tests may change the owner of files. */
const user = process.getuid?.() === 0 ? 1000 : (process.getuid?.() ?? 0);

export { git, writeFiles };

export type Runner = 'docker' | 'process';

/** Creates repositories with one runner. Disposing of them removes everything. */
export function createScene(runsIn: Runner, beforeLaunch = () => {}) {
  const hub = createHub();
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'repositories-')));
  const processes = createProcessRuntime(
    { environment: process.env, platform: process.platform },
    { clock: systemClock },
  );
  const runtime = runsIn === 'docker' ? hub.runtime : processes;
  let folders: readonly string[] = [home];
  /** Folders of created repositories by their files. The next repository with the same files is a copy. */
  const templates = new Map<string, string>();
  const repositories = createRepositories(
    { runsIn, inContainer: false, imagesDir, folders: () => folders },
    {
      clock: systemClock,
      log: silent,
      newId: randomUUID,
      redact: text => text.replaceAll('hunter2', '[redacted]'),
      launch(spec, events, ending) {
        beforeLaunch();
        return runtime.launch(spec, events, ending);
      },
      identify: async spec => await hub.runtime.identify?.(spec),
    },
  );

  /** Gives files to the user that the runner may act for. */
  function giveAway(path: string): void {
    if (runsIn === 'process' || process.getuid?.() !== 0) return;
    execFileSync('chown', ['-R', `${user}:${user}`, path]);
  }

  return {
    home,
    hub,
    repositories,
    giveAway,
    allow(list: readonly string[]): void {
      folders = list;
    },
    /** Creates a repository with one commit on `main`. */
    create(files: Readonly<Record<string, string | Uint8Array>> = { 'a.txt': 'one\n' }): string {
      const path = mkdtempSync(join(home, 'repo-'));
      const key = JSON.stringify(files);
      const made = templates.get(key);
      if (made === undefined) {
        git(path, 'init', '--quiet', '--initial-branch=main');
        writeFiles(path, files);
        git(path, 'add', '--all');
        git(path, 'commit', '--quiet', '--message=first');
        const template = `${path}.template`;
        cpSync(path, template, { recursive: true, preserveTimestamps: true });
        templates.set(key, template);
      } else cpSync(made, path, { recursive: true, preserveTimestamps: true });
      giveAway(path);
      return path;
    },
    open: (path: string): Promise<Repository> => repositories.open(path, caller, signal),
    async [Symbol.asyncDispose](): Promise<void> {
      await repositories.service.stop();
      if (runsIn === 'docker') await hub[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export type Scene = ReturnType<typeof createScene>;

/** Returns the code and message of a failure. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return error instanceof Error && 'code' in error
      ? `${String(error.code)}: ${error.message}`
      : String(error);
  }
  return 'no failure';
}

/** Returns the text of a file that was read, or the reason why it has no text. */
export function textOf(
  file: ReadFile | Awaited<ReturnType<Repository['readFiles']>>[number],
): string {
  const text = file.kind === 'bytes' ? decodeText(file.content) : undefined;
  if (file.kind === 'text') return file.text;
  return text ?? `(${file.kind === 'bytes' ? 'binary' : file.kind})`;
}

/** Writes files by path; undefined deletes a file. */
export const writeInto = (
  worktree: Worktree,
  files: Readonly<Record<string, string | undefined>>,
  rules = anyPath,
): Promise<void> =>
  worktree.write(
    Object.entries(files).map(([path, content]) => ({ path, content })),
    rules,
    signal,
  );

export const mergeInto = (
  repository: Repository,
  request: Partial<MergeRequest> & Pick<MergeRequest, 'from'>,
): Promise<MergeOutcome> =>
  repository.merge(
    { into: 'main', message: 'Merge', strategy: 'fast_forward', ...request },
    signal,
  );

export async function readText(folder: SafeFolder, path: string): Promise<string | undefined> {
  return (await folder.read(path, 2 ** 20, signal))?.toString();
}

/** Creates a worktree with one commit in it. */
export async function workOn(
  repository: Repository,
  taskId: string,
  files: Readonly<Record<string, string | undefined>>,
): Promise<Worktree> {
  const { head = '' } = await repository.summary(signal);
  const worktree = await repository.worktrees.add(taskId, head, signal);
  await writeInto(worktree, files);
  await worktree.commit({ message: `Work on ${taskId}` }, signal);
  return worktree;
}

/** Returns all paths below a folder but those of the git folder, for comparison. */
export const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path !== '.git' && !path.startsWith('.git/'))
    .toSorted();
