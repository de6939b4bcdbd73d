import { z } from 'zod';
import { HubError, errorCodeOf } from '#core';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { changedFiles, diffOf } from './changes.ts';
import type { ConfigKeyReader } from './config-keys.ts';
import type { Driver } from './driver.ts';
import type { DriverUse } from './drivers.ts';
import { createDriverFolder, createSafeFolder } from './folder.ts';
import { requireHarmlessConfig } from './git-switches.ts';
import { type GitPlaces, createGitPlaces } from './git.ts';
import { mergeBranch } from './merge.ts';
import { listFiles, readFiles, readTrailers, requireCommitId, resolveRevision } from './objects.ts';
import type { Repository, RepositorySummary } from './repository-types.ts';
import { createWorktrees } from './worktrees.ts';

const timeoutMs = 60_000;
const maxExcludeBytes = 4 * 2 ** 20;
const handoffFolder = '_handoff';

const layoutSchema = z.object({
  faults: z.array(z.string()),
  busy: z.array(z.string()),
});

/**
 * Rejects with HUB_REPOSITORY_UNKNOWN unless the folder is the top folder of a repository, and with
 * HUB_REPOSITORY_REFUSED if `.git` is a link or a file.
 */
export async function requireRepository(root: string): Promise<void> {
  const found = await statusOf(join(root, '.git'));
  if (!found) {
    const isBare = (await statusOf(join(root, 'HEAD'))) && (await statusOf(join(root, 'objects')));
    throw new HubError(
      'HUB_REPOSITORY_UNKNOWN',
      isBare
        ? `${root} is a bare repository, which has no files. Make a clone of it with git clone, and name that`
        : `${root} is not the top folder of a git repository: it has no .git folder. Run git init there, or name the top folder`,
    );
  }
  if (found.isDirectory()) return;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
  throw new HubError(
    'HUB_REPOSITORY_REFUSED',
    `${root}: .git is ${what} that leads to another git folder, as in submodules and linked worktrees. Name the repository that holds it`,
  );
}

const statusOf = (path: string) =>
  lstat(path).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });

/** Checks the repository in the folder of a driver, and opens it. */
export async function openRepository(
  root: string,
  use: DriverUse,
  readConfigKeys: ConfigKeyReader,
  signal: AbortSignal,
): Promise<Repository> {
  const { driver } = use;
  const { faults } = await inspect(driver, signal);
  if (faults.length > 0)
    throw new HubError('HUB_REPOSITORY_REFUSED', `${root}: ${faults.slice(0, 3).join('; ')}`);
  const keys = await readConfigKeys(root, driver, signal);
  requireHarmlessConfig(root, keys);
  return createRepository(root, use, createGitPlaces(root, driver, keys));
}

const inspect = (driver: Driver, signal: AbortSignal) =>
  driver.request({ method: 'inspect', params: {}, timeoutMs }, layoutSchema, signal);

function createRepository(root: string, use: DriverUse, places: GitPlaces): Repository {
  const { driver, exclusive } = use;
  const { objects, userTree } = places;
  const busy = async (signal: AbortSignal) => (await inspect(driver, signal)).busy;

  const { obstacles } = createDriverFolder(driver, '');

  /** Makes git ignore the handoff folder, by `.git/info/exclude`, so that no tracked file changes. */
  async function exclude(signal: AbortSignal): Promise<void> {
    const info = createDriverFolder(driver, '.git/info');
    // Bytes stay what they are: names in other encodings than UTF-8 may be in the file.
    const text = (await info.read('exclude', maxExcludeBytes, signal))?.toString('latin1') ?? '';
    const line = `/${handoffFolder}/`;
    if (text.split(/\r?\n/).includes(line)) return;
    const added = `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
    const content = Buffer.from(text + added, 'latin1');
    await info.write([{ path: 'exclude', content }], false, signal);
  }

  async function summary(signal: AbortSignal): Promise<RepositorySummary> {
    // The full name of the ref: git would shorten it to "heads/main" if there is a tag called "main".
    const named = await userTree(['symbolic-ref', '--quiet', 'HEAD'], { codes: [0, 1] }, signal);
    const args = ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'];
    const head = await userTree(args, { codes: [0, 1, 128] }, signal);
    return {
      branch:
        named.code === 0 ? named.stdout.toString().trim().replace('refs/heads/', '') : undefined,
      head: head.code === 0 ? head.stdout.toString().trim() : undefined,
    };
  }

  return {
    root,
    handoff: createSafeFolder(driver, handoffFolder, signal => exclusive(() => exclude(signal))),
    state: createSafeFolder(driver, '.git/agenthub/state'),
    worktrees: createWorktrees(root, { driver, places, exclusive }),
    summary,
    resolve: (revision, signal) => resolveRevision(objects, revision, signal),
    files: (commit, signal) => listFiles(objects, commit, signal),
    readFiles: (commit, paths, limits, signal) => readFiles(objects, commit, paths, limits, signal),
    trailers: (commit, signal) => readTrailers(objects, commit, signal),
    diff: ({ from, to, ...options }, signal) =>
      diffOf(objects, ['diff-tree', requireCommitId(from), requireCommitId(to)], options, signal),
    changes: ({ from, to }, signal) =>
      changedFiles(objects, ['diff-tree', requireCommitId(from), requireCommitId(to)], signal),
    merge: (request, signal) =>
      exclusive(() => mergeBranch(request, { root, places, busy, obstacles }, signal)),
    [Symbol.asyncDispose]: () => use[Symbol.asyncDispose](),
  };
}
