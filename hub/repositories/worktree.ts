import { HubError } from '#core';
import { addedLines, changedFiles } from './changes.ts';
import { createCommit, findBranch, moveBranch } from './commits.ts';
import { filtersOf } from './filters.ts';
import { type Git, partsOf, wholeText } from './git.ts';
import { modeOf, readBlobs, requireCommitId } from './objects.ts';
import { checkPaths } from './path-guard.ts';
import type { CommitId, PathFault, Worktree, WorktreeFile } from './repository-types.ts';
import { findSecrets } from './secret-scan.ts';

const mib = 2 ** 20;
const maxListBytes = 16 * mib;
const maxFiles = 1_000;
const maxBytes = 32 * mib;

/** An entry of git's index. */
type IndexEntry = { readonly path: string; readonly mode: string; readonly hash: string };

type Needs = {
  /** Runs git with the files and the index of the worktree. */
  readonly git: Git;
  /** Runs changes of the repository one after the other. */
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
};

type WorktreePlace = Pick<Worktree, 'taskId' | 'branch' | 'path'>;

/** Creates the worktree of a task. Files are read and written only by git, which does not follow links. */
export function createWorktree(place: WorktreePlace, { git, exclusive }: Needs): Worktree {
  const { taskId, branch, path: root } = place;

  async function head(signal: AbortSignal): Promise<CommitId> {
    const found = await findBranch(git, branch, signal);
    if (found !== undefined) return found;
    throw new HubError('HUB_REPOSITORY_UNKNOWN', `the branch ${branch} no longer exists`);
  }

  /**
   * Adds all changed files to the index, also those that a person has edited. `git add` would run `git status` in each
   * submodule that has files, with the submodule's config and filters. The invalid value, which only `git status`
   * reads, ends that before it looks at a file.
   */
  const stage = (signal: AbortSignal) =>
    git(
      ['add', '--all', '--', '.'],
      { env: { GIT_CONFIG_PARAMETERS: "'status.showUntrackedFiles=refused'" } },
      signal,
    );

  async function entries(paths: readonly string[], signal: AbortSignal) {
    const args = ['ls-files', '--stage', '-z', '--', ...paths];
    const output = await git(args, { maxBytes: maxListBytes }, signal);
    return partsOf(wholeText(output, 'the list of files')).map((entry): IndexEntry => {
      const [about = '', path = ''] = entry.split('\t', 2);
      const [mode = '', hash = ''] = about.split(' ');
      return { path, mode, hash };
    });
  }

  /** Returns the sizes in bytes of the entries' objects, by object hash. */
  async function sizesOf(found: readonly IndexEntry[], signal: AbortSignal) {
    if (found.length === 0) return new Map<string, number>();
    const input = found.map(({ hash }) => `${hash}\n`).join('');
    const args = ['cat-file', '--batch-check=%(objectname) %(objectsize)'];
    const { stdout } = await git(args, { input, maxBytes: maxListBytes }, signal);
    return new Map(
      stdout
        .toString()
        .split('\n')
        .map(line => line.split(' '))
        .map(([hash = '', bytes]) => [hash, Number(bytes)] as const),
    );
  }

  /**
   * Returns the entries of the index at the paths of files. `faults`: files that cannot be written because a link, a
   * folder, or a file in place of a parent folder is there.
   */
  async function placesOf(
    files: readonly WorktreeFile[],
    signal: AbortSignal,
  ): Promise<{ readonly found: readonly IndexEntry[]; readonly faults: readonly PathFault[] }> {
    const parents = new Map(files.flatMap(({ path }) => parentsOf(path).map(one => [one, path])));
    const deleted = new Set(files.filter(one => one.content === undefined).map(one => one.path));
    const found = await entries([...files.map(({ path }) => path), ...parents.keys()], signal);
    const written = new Set(files.map(({ path }) => path).filter(path => !deleted.has(path)));
    const faults = found.flatMap(({ path, mode }) => {
      const kind = modeOf(mode);
      if (files.some(one => one.path === path))
        return kind === 'link' || kind === 'submodule' ? [{ path, why: `is ${nameOf[kind]}` }] : [];
      const below = parents.get(path);
      if (below !== undefined)
        return [{ path: below, why: `is below ${path}, which is ${nameOf[kind]}` }];
      const above = parentsOf(path).find(one => written.has(one));
      return above === undefined ? [] : [{ path: above, why: 'is a folder' }];
    });
    return { found, faults };
  }

  async function write(files: readonly WorktreeFile[], signal: AbortSignal): Promise<void> {
    const { found, faults } = await placesOf(files, signal);
    if (faults.length > 0) throw forbidden(faults);
    const written = files.filter(one => one.content !== undefined);
    const modes = new Map(found.map(({ path, mode }) => [path, mode]));
    const lines: string[] = [];
    for (const { path, content = '' } of written) {
      const hashed = await git(
        ['hash-object', '-w', '--stdin', '--no-filters'],
        { input: content },
        signal,
      );
      const mode = modes.get(path) ?? '100644';
      lines.push(`${mode} ${hashed.stdout.toString().trim()}\t${path}\0`);
    }
    const deleted = files.filter(one => one.content === undefined).map(({ path }) => `${path}\0`);
    if (deleted.length > 0) {
      const args = [
        'rm',
        '-f',
        '-q',
        '--ignore-unmatch',
        '--pathspec-file-nul',
        '--pathspec-from-file=-',
      ];
      await git(args, { input: deleted.join('') }, signal);
    }
    if (lines.length === 0) return;
    await git(['update-index', '-z', '--index-info'], { input: lines.join('') }, signal);
    const input = written.map(({ path }) => `${path}\0`).join('');
    await git(['checkout-index', '-f', '-u', '-q', '-z', '--stdin'], { input }, signal);
  }

  return {
    taskId,
    branch,
    path: root,
    head,
    async write(files, rules, signal) {
      const faults = checkPaths(
        files.map(({ path }) => path),
        rules,
      );
      if (faults.length > 0) throw forbidden(faults);
      requireBounded(files);
      await exclusive(async () => {
        await stage(signal);
        await write(files, signal);
      });
    },
    readFiles: (paths, limits, signal) =>
      exclusive(async () => {
        await stage(signal);
        const all = await entries(paths, signal);
        const found = new Map(all.map(one => [one.path, one]));
        const folders = new Set(all.flatMap(({ path }) => parentsOf(path)));
        const sizes = await sizesOf([...found.values()], signal);
        const wanted = paths.map(path => {
          const entry = found.get(path);
          const bytes = entry && sizes.get(entry.hash);
          // The entry of a submodule is a commit of another repository, which has no content here.
          return entry && bytes !== undefined && isFile(entry)
            ? { path, hash: entry.hash, bytes }
            : { path, isLink: entry !== undefined || folders.has(path) };
        });
        return await readBlobs(git, wanted, limits, signal);
      }),
    filters: (paths, signal) => filtersOf(git, paths, signal),
    changes: (since, signal) =>
      exclusive(async () => {
        await stage(signal);
        return await changedFiles(git, ['diff-index', '--cached', requireCommitId(since)], signal);
      }),
    secrets: (since, signal) =>
      exclusive(async () => {
        await stage(signal);
        return await findSecrets(
          await addedLines(git, ['diff-index', '--cached', requireCommitId(since)], signal),
        );
      }),
    commit: (request, signal) =>
      exclusive(async () => {
        await stage(signal);
        const from = await head(signal);
        const tree = (await git(['write-tree'], {}, signal)).stdout.toString().trim();
        if (request.allowEmpty !== true) {
          const before = await git(['rev-parse', `${from}^{tree}`], {}, signal);
          if (tree === before.stdout.toString().trim()) return from;
        }
        const to = await createCommit(git, { ...request, tree, parents: [from] }, signal);
        await moveBranch(git, branch, { from, to, why: 'commit' }, signal);
        return to;
      }),
    reset: (commit, signal) =>
      exclusive(async () => {
        await git(['reset', '--hard', '--quiet', requireCommitId(commit)], {}, signal);
        await git(['clean', '-ffdxq'], {}, signal);
      }),
  };
}

const isFile = ({ mode }: IndexEntry) => ['file', 'executable'].includes(modeOf(mode));

const nameOf = {
  file: 'a file',
  executable: 'a file',
  link: 'a symbolic link',
  submodule: 'a submodule',
} as const;

const parentsOf = (path: string): readonly string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, at, names) => names.slice(0, at + 1).join('/'));

function forbidden(faults: readonly PathFault[]): HubError {
  const shown = faults
    .slice(0, 5)
    .map(({ path, why }) => `${JSON.stringify(path.slice(0, 200))} ${why}`);
  const more = faults.length > 5 ? `, and ${faults.length - 5} more` : '';
  return new HubError('HUB_PATH_FORBIDDEN', `nothing was written: ${shown.join('; ')}${more}`, {
    data: { faults: faults.slice(0, 100) },
  });
}

function requireBounded(files: readonly WorktreeFile[]): void {
  const bytes = files.reduce((sum, { content = '' }) => sum + Buffer.byteLength(content), 0);
  if (files.length <= maxFiles && bytes <= maxBytes) return;
  throw new HubError(
    'HUB_REPOSITORY_LIMIT',
    `${files.length} files with ${bytes} bytes are too many at once: at most ${maxFiles} files and ${maxBytes} bytes`,
  );
}
