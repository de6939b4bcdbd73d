import { HubError, neverAborted } from '#core';
import { changedFiles } from './changes.ts';
import { createCommit, findBranch, moveBranch } from './commits.ts';
import { filtersOf } from './filters.ts';
import { type Git, type GitPlaces, partsOf, wholeText } from './git.ts';
import type { ChangedFile, CommitId, MergeOutcome, MergeRequest } from './repository-types.ts';
import { requireBranchName } from './task-branch.ts';

const mib = 2 ** 20;
const maxListBytes = 4 * mib;
const shownPaths = 20;
/** Maximum number of attempts of a merge into a branch on which a person commits at the same time. */
const maxAttempts = 3;
/**
 * Option without which git would run in each submodule, with the submodule's config and filters. Merges do not touch
 * files of submodules.
 */
const ignoreDirty = '--ignore-submodules=dirty';

type Needs = {
  readonly root: string;
  readonly places: Pick<GitPlaces, 'objects' | 'userTree'>;
  /**
   * Returns the names of git operations that the user has begun in the top folder and not finished, such as a rebase.
   */
  readonly busy: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Returns paths of existing files that are in the way of new files in the top folder. */
  readonly obstacles: (paths: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
};

type Branches = { readonly from: CommitId; readonly into: CommitId };

/**
 * Merges a branch into another. The merge is made in the object store, so that a conflict changes nothing; then the
 * branch is moved. If the branch is checked out in the top folder, its files are updated first, and only if they have
 * no changes: from then on, the signal has no effect. After a kill, another call continues where this one ended. If a
 * person has committed on the branch meanwhile, the merge is made again, with that commit.
 */
export async function mergeBranch(
  request: MergeRequest,
  needs: Needs,
  signal: AbortSignal,
  attempt = 1,
): Promise<MergeOutcome> {
  const { root, places, busy, obstacles } = needs;
  const { objects, userTree } = places;
  const branches = {
    from: await requireBranch(objects, request.from, signal),
    into: await requireBranch(objects, request.into, signal),
  };
  const { from, into } = branches;
  const fork = await forkOf(objects, branches, signal);
  if (fork === from) return { kind: 'merged', commit: into };

  const canForward = fork === into && request.strategy === 'fast_forward';
  const made = canForward
    ? ({ kind: 'made', target: from } as const)
    : await mergeTrees(objects, request, branches, signal);
  if (made.kind === 'conflict') return made;
  const { target } = made;

  const folder = await folderOf(userTree, request.into, signal);
  if (folder !== undefined && folder !== root) return { kind: 'dirty', folder, paths: [] };
  const operations = await busy(signal);
  if (folder === undefined && operations.includes('a rebase'))
    // The end of a rebase of this branch would move it.
    return { kind: 'dirty', folder: root, paths: operations };
  if (folder === root) {
    // Compares contents where times, owners or inodes have changed, as git status does. If the index is locked, the
    // update below reports it.
    await userTree(['update-index', '-q', '--refresh'], { codes: [0, 1, 128] }, signal);
    const changed = [...operations, ...(await changesIn(userTree, target, signal))];
    if (changed.length > 0) return { kind: 'dirty', folder, paths: changed.slice(0, shownPaths) };
    const inTheWay = await untrackedIn(userTree, target, obstacles, signal);
    if (inTheWay.length > 0) return { kind: 'dirty', folder, paths: inTheWay.slice(0, shownPaths) };
    const paths = await updateFiles(userTree, { from: into, to: target }, signal);
    if (paths.length > 0) return { kind: 'dirty', folder, paths };
  }
  const move = { from: into, to: target, why: `merge ${request.from}` };
  // Not cancelled from here on, as the files may already be those of the target.
  try {
    await moveBranch(objects, request.into, move, neverAborted);
  } catch (error) {
    const isMoved = (await findBranch(objects, request.into, neverAborted)) !== into;
    if (!isMoved || attempt === maxAttempts) throw error;
    return await mergeBranch(request, needs, neverAborted, attempt + 1);
  }
  return { kind: 'merged', commit: target };
}

async function requireBranch(git: Git, name: string, signal: AbortSignal): Promise<CommitId> {
  const found = await findBranch(git, requireBranchName(name), signal);
  if (found !== undefined) return found;
  throw new HubError(
    'HUB_REPOSITORY_UNKNOWN',
    `there is no branch ${JSON.stringify(name)}, which was renamed or deleted. Make it again with git branch, or merge by hand`,
  );
}

/**
 * Returns the best common ancestor, which is one of the two commits if the other contains it. Empty if there is none.
 */
async function forkOf(git: Git, { from, into }: Branches, signal: AbortSignal): Promise<string> {
  const output = await git(['merge-base', into, from], { codes: [0, 1] }, signal);
  return output.stdout.toString().trim();
}

/** Makes the merge commit, which is not on a branch yet, or returns the conflicts. */
async function mergeTrees(
  git: Git,
  request: MergeRequest,
  { from, into }: Branches,
  signal: AbortSignal,
): Promise<
  | { readonly kind: 'made'; readonly target: CommitId }
  | { readonly kind: 'conflict'; readonly paths: readonly string[] }
> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', into, from];
  const options = { codes: [0, 1], maxBytes: maxListBytes, timeoutMs: 300_000 };
  const output = await git(args, options, signal);
  const [tree = '', ...paths] = partsOf(wholeText(output, 'the list of conflicts'));
  if (output.code === 1) return { kind: 'conflict', paths: paths.filter(path => path !== '') };
  const target = await createCommit(git, { ...request, tree, parents: [into, from] }, signal);
  return { kind: 'made', target };
}

/** Returns the folder in which a branch is checked out, if any. */
async function folderOf(git: Git, branch: string, signal: AbortSignal) {
  const output = await git(
    ['worktree', 'list', '--porcelain', '-z'],
    { maxBytes: maxListBytes },
    signal,
  );
  let folder: string | undefined;
  for (const line of partsOf(wholeText(output, 'the list of worktrees'))) {
    if (line.startsWith('worktree ')) folder = line.slice('worktree '.length);
    if (line === `branch refs/heads/${branch}`) return folder;
  }
  return undefined;
}

/**
 * Returns files that the user has changed. [] if an earlier, interrupted run has already updated them to the target.
 */
async function changesIn(
  git: Git,
  target: CommitId,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const args = [
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--untracked-files=no',
    ignoreDirty,
  ];
  const status = partsOf((await git(args, {}, signal)).stdout.toString());
  if (status.length === 0) return [];
  const files = await git(
    ['diff-files', '--quiet', '--no-ext-diff', ignoreDirty],
    { codes: [0, 1] },
    signal,
  );
  const same = ['diff-index', '--cached', '--quiet', target];
  const index = await git(same, { codes: [0, 1] }, signal);
  if (files.code === 0 && index.code === 0) return [];
  return status.map(line => line.slice(3));
}

/** Returns untracked files and links at paths of new files. Git would overwrite those that it ignores. */
async function untrackedIn(
  git: Git,
  target: CommitId,
  obstacles: Needs['obstacles'],
  signal: AbortSignal,
): Promise<readonly string[]> {
  // The diff is from the target to the index, so files that it deletes are new in the target.
  const changes = await changedFiles(git, ['diff-index', '--cached', target], signal);
  const pathsOf = (status: ChangedFile['status']) =>
    changes.filter(each => each.status === status).map(({ path }) => path);
  const leaving = new Set(pathsOf('added'));
  // To put a file in the place of a submodule, git removes the submodule's folder with all its content.
  const modules = changes.filter(
    ({ status, mode }) => status === 'type_changed' && mode === 'submodule',
  );
  const paths = [...pathsOf('deleted'), ...modules.map(({ path }) => path)];
  const found = (await obstacles(paths, signal)).filter(path => !leaving.has(path));
  const isFolder = (path: string) => [...leaving].some(file => file.startsWith(`${path}/`));
  const folders = found.filter(isFolder);
  if (folders.length === 0) return found;
  // Only files that do not leave with the change keep a folder from becoming a file. Without exclusions, git lists
  // ignored files, too.
  const others = await git(['ls-files', '--others', '-z', '--', ...folders], {}, signal);
  const rest = found.filter(path => !folders.includes(path));
  return [...rest, ...partsOf(others.stdout.toString())];
}

/**
 * Updates files and index of the top folder from one commit to another, completely or not at all. Resolves with the
 * paths that prevent the update. Rejects with HUB_REPOSITORY_REFUSED if a filter, such as that of Git LFS, would have
 * to run.
 */
async function updateFiles(
  git: Git,
  { from, to }: { readonly from: CommitId; readonly to: CommitId },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const changes = await changedFiles(git, ['diff-tree', from, to], signal);
  const paths = changes.map(({ path }) => path);
  const stored = changes.filter(({ status }) => status !== 'deleted').map(({ path }) => path);
  for (const [path, filter] of await filtersOf(git, stored, signal))
    throw new HubError(
      'HUB_REPOSITORY_REFUSED',
      `${path} has the filter ${filter}, which does not run here. Merge the branch yourself, with git merge`,
    );
  const update = ['-m', '-u', from, to];
  const { code } = await git(['read-tree', '-n', ...update], { codes: [0, 128] }, signal);
  if (code !== 0) {
    const hidden = await hiddenFrom(git, signal);
    const kept = changes.filter(({ path }) => hidden.has(path));
    if (kept.length > 0)
      return kept
        .slice(0, shownPaths)
        .map(
          ({ path }) =>
            `${path} (git status hides it: run git update-index --no-assume-unchanged --no-skip-worktree)`,
        );
    const untracked = changes.filter(({ status }) => status === 'added').map(({ path }) => path);
    return (untracked.length > 0 ? untracked : paths).slice(0, shownPaths);
  }
  // If it were cancelled, or ended with the hub, git would leave half of the files updated.
  const options = { timeoutMs: 300_000, finishes: true };
  await git(['read-tree', ...update], options, neverAborted);
  return [];
}

/** Returns files whose changes git was told to ignore, as people do for their own settings in a tracked file. */
async function hiddenFrom(git: Git, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const output = await git(['ls-files', '-v', '-z'], { maxBytes: 4 * maxListBytes }, signal);
  const lines = partsOf(wholeText(output, 'the list of files'));
  return new Set(lines.filter(line => /^[a-zS] /.test(line)).map(line => line.slice(2)));
}
