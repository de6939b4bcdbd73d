import { z } from 'zod';
import { HubError } from '#core';
import type { Driver } from './driver.ts';
import { type ConfigKeys, gitEnvironment } from './git-switches.ts';

const kib = 1_024;
const usualBytes = 256 * kib;
const usualMs = 60_000;

const resultSchema = z.object({
  code: z.number(),
  /**
   * In base64, which is not checked: the driver is the hub's own, and a check takes longer than all other work on an
   * answer.
   */
  stdout: z.string(),
  stderr: z.string(),
  isTruncated: z.boolean(),
  timedOut: z.boolean(),
});

type GitOptions = {
  readonly input?: string | Uint8Array;
  /** Maximum size of the output in bytes. Git is ended after it. Default: 256 KiB. */
  readonly maxBytes?: number;
  /** Timeout of the command, in ms. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Exit codes that do not count as failure. Default: 0. */
  readonly codes?: readonly number[];
  readonly env?: Readonly<Record<string, string>>;
  /** True if neither a cancellation nor the end of the hub ends git, which would leave files half written. */
  readonly finishes?: boolean;
  /**
   * Number of objects that `cat-file --batch` prints for `input`. The git process is reused by the next such command.
   */
  readonly objects?: number;
};

type GitOutput = {
  readonly code: number;
  readonly stdout: Buffer;
  readonly isTruncated: boolean;
};

/** Runs git on a part of a repository. Rejects with HUB_GIT_FAILED for an unexpected exit code or a timeout. */
export type Git = (
  args: readonly string[],
  options: GitOptions,
  signal: AbortSignal,
) => Promise<GitOutput>;

/** Functions that run git, by the part of the repository that the command sees. */
export type GitPlaces = {
  /** Sees only objects and refs: no files, no index, and no attributes except `.git/info/attributes`. */
  readonly objects: Git;
  /** Sees the user's files and index in the top folder. */
  readonly userTree: Git;
  worktree(place: { readonly gitFolder: string; readonly path: string }): Git;
};

/** Creates functions that run git in the repository of a driver. `keys`: keys in the config of the repository. */
export function createGitPlaces(root: string, driver: Driver, keys: ConfigKeys): GitPlaces {
  const common = `${root}/.git`;
  const usual = gitEnvironment(keys);

  const place =
    (where: Readonly<Record<string, string>>, switches: readonly string[]): Git =>
    async (args, options, signal) => {
      const { input, objects, finishes, codes = [0] } = options;
      const { maxBytes = usualBytes, timeoutMs = usualMs } = options;
      const result = await driver.request(
        {
          method: objects === undefined ? 'git' : 'objects',
          params: {
            args: [...switches, ...args],
            env: { ...usual, ...where, GIT_COMMON_DIR: common, ...options.env },
            ...(input !== undefined && { input: Buffer.from(input).toString('base64') }),
            ...(objects !== undefined && { objects }),
            ...(finishes === true && { finishes }),
            maxBytes,
            timeoutMs,
          },
          timeoutMs,
        },
        resultSchema,
        signal,
      );
      const { code, stderr, isTruncated, timedOut } = result;
      const isExpected = codes.includes(code) && !(code !== 0 && isLocked.test(stderr));
      if (timedOut || (!isTruncated && !isExpected))
        throw gitError(root, args, timedOut ? `took more than ${timeoutMs} ms` : stderr, code);
      return { code, stdout: Buffer.from(result.stdout, 'base64'), isTruncated };
    };

  return {
    objects: place(
      { GIT_DIR: common, GIT_INDEX_FILE: `${common}/agenthub/no-index` },
      withoutFiles,
    ),
    userTree: place({ GIT_DIR: common, GIT_WORK_TREE: root }, withFiles),
    worktree: ({ gitFolder, path }) =>
      place({ GIT_DIR: gitFolder, GIT_WORK_TREE: path }, withFiles),
  };
}

/** Id of the empty tree in all repositories with SHA-1. In others, it names no object, which git ignores. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

const withFiles = ['-c', 'core.bare=false'];

/**
 * Options for commands that must not see files. Without `--bare`, git looks for files in the working folder, and a
 * `.gitattributes` there can hide changes from reviews. From 2.43 on, git may read attributes from a commit: the empty
 * tree has none.
 */
const withoutFiles = ['--bare', '-c', 'core.bare=true', '-c', `attr.tree=${emptyTree}`];

/** Message of git if another git process may be running. */
const isLocked = /Unable to create '([^']+\.lock)'/;

/** Message of git when the name of a branch is the beginning of another's, which is a folder of branches. */
const isTaken = /'refs\/heads\/([^']+)' exists; cannot create 'refs\/heads\/([^']+)'/;

/** Message of git when it cannot examine a submodule. */
const isSubmodule = /git status --porcelain=2' failed in submodule (.+)/;

function gitError(root: string, args: readonly string[], stderr: string, code: number): HubError {
  const submodule = isSubmodule.exec(stderr)?.[1];
  if (submodule !== undefined)
    return new HubError(
      'HUB_REPOSITORY_REFUSED',
      `${root}: the submodule ${submodule} has files in a worktree of a task, and git would run there by its config. Empty its folder`,
    );
  const [, inTheWay, wanted] = isTaken.exec(stderr) ?? [];
  if (inTheWay !== undefined)
    return new HubError(
      'HUB_REPOSITORY_REFUSED',
      `${root}: git cannot have the branches ${inTheWay} and ${wanted} at the same time. Rename the first: git branch -m ${inTheWay} NEW_NAME`,
    );
  const why = stderr.trim().split('\n').slice(-5).join('\n') || `it exited with code ${code}`;
  const locked = isLocked.exec(stderr)?.[1];
  const remedy =
    locked !== undefined
      ? `. If no git process runs there, remove ${locked}`
      : /insufficient permission/.test(stderr)
        ? `. Some files there belong to another user: give all of ${root} to its owner, with chown -R`
        : '';
  return new HubError('HUB_GIT_FAILED', `${root}: git ${args[0] ?? ''} failed: ${why}${remedy}`, {
    data: { exitCode: code },
  });
}

/** Returns the whole output as text. Throws HUB_REPOSITORY_LIMIT if it was cut off. */
export function wholeText({ stdout, isTruncated }: GitOutput, what: string): string {
  if (!isTruncated) return stdout.toString();
  throw new HubError('HUB_REPOSITORY_LIMIT', `${what} exceeds ${stdout.length} bytes`);
}

/** Splits the output of a command with `-z`. */
export const partsOf = (text: string): readonly string[] =>
  text === '' ? [] : text.replace(/\0$/, '').split('\0');
