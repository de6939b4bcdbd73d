import type { Service } from '#core';
import type { Principal } from '#policy';
import type { FileBytes, ReadFile, ReadLimits, TrackedFile } from './file-types.ts';

/** The id of a commit, in hex. */
export type CommitId = string;

/** Opens git repositories and folders of the user. Git never runs in the hub: see `decisions/0034`. */
export interface Repositories {
  /** `start` removes what an earlier run left running, `stop` closes everything that is open. */
  readonly service: Service;
  /**
   * Resolves the links in a path and returns the real one. Without the administer grant it must lie in a folder of
   * `repositories` in the config. Rejects with HUB_PATH_REFUSED, and with HUB_REPOSITORY_UNKNOWN if it does not exist.
   */
  requireAllowed(path: string, principal: Principal): Promise<string>;
  /**
   * Opens the repository whose top folder is `path`. Several handles of one repository share one container, which is
   * closed when the last was disposed and nothing used it for a while. Rejects with HUB_PATH_REFUSED,
   * HUB_REPOSITORY_UNKNOWN (no repository), HUB_REPOSITORY_REFUSED (its owner, its layout or its config), or
   * HUB_REPOSITORIES_FULL.
   */
  open(path: string, principal: Principal, signal: AbortSignal): Promise<Repository>;
  /** Opens a folder that need not be a repository, such as a vault. Rejects as `open` does. */
  openFolder(path: string, principal: Principal, signal: AbortSignal): Promise<OpenFolder>;
  /**
   * Runs acceptance commands in a container of their own, on a copy of the files of a worktree. Needs Docker, else it
   * rejects with HUB_ENGINE_UNREACHABLE, as it does if the container is lost. A missing image rejects with
   * HUB_IMAGE_MISSING. A command that fails is no error.
   */
  runAcceptance(run: AcceptanceRun, signal: AbortSignal): Promise<AcceptanceReport>;
}

/** Files of one folder. Paths are relative, with `/`. No path leads out of the folder, also not by a link. */
export interface SafeFolder {
  /** Undefined if there is no such file. Rejects with HUB_REPOSITORY_LIMIT for more than `maxBytes`. */
  read(path: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Replaces each file atomically, and creates its parents. */
  write(files: readonly FileContent[], signal: AbortSignal): Promise<void>;
  /** Creates a file, or resolves with false if it exists. */
  create(file: FileContent, signal: AbortSignal): Promise<boolean>;
  /** Removes files, and parents that become empty. Files that do not exist are skipped. */
  remove(paths: readonly string[], signal: AbortSignal): Promise<void>;
  /** Paths of regular files. Links are omitted. Rejects with HUB_REPOSITORY_LIMIT for more than 100,000. */
  list(signal: AbortSignal): Promise<readonly string[]>;
}

export interface OpenFolder extends SafeFolder, AsyncDisposable {
  /** An absolute path without links. */
  readonly root: string;
  /** Names of the folders in it. Links are omitted. */
  folders(signal: AbortSignal): Promise<readonly string[]>;
}

export type FileContent = { readonly path: string; readonly content: string | Uint8Array };

/** An open repository. Every operation is bounded in time and bytes, and rejects with HUB_GIT_FAILED if git fails. */
export interface Repository extends AsyncDisposable {
  /** Top folder of the repository: an absolute path without links. */
  readonly root: string;
  /** `_handoff/` in the top folder, which git ignores (`.git/info/exclude`). */
  readonly handoff: SafeFolder;
  /** `agenthub/state/` in the git folder: what must be found again after a kill, such as a lease. */
  readonly state: SafeFolder;
  readonly worktrees: Worktrees;
  summary(signal: AbortSignal): Promise<RepositorySummary>;
  /** The commit of a branch, tag or id. Rejects with HUB_REPOSITORY_UNKNOWN. */
  resolve(revision: string, signal: AbortSignal): Promise<CommitId>;
  /** Files of a commit in the order of git. Submodules are omitted. */
  files(commit: CommitId, signal: AbortSignal): Promise<readonly TrackedFile[]>;
  /**
   * Contents of files of a commit, by their paths or as `files` lists them, in that order. Stops at `maxBytes` in sum: later
   * ones are `omitted`.
   */
  readFiles(
    commit: CommitId,
    files: readonly (string | TrackedFile)[],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly FileBytes[]>;
  /** Trailers of the message of a commit. The last one of a name counts. */
  trailers(commit: CommitId, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  diff(query: DiffQuery, signal: AbortSignal): Promise<Diff>;
  /** The files that differ between two commits. */
  changes(
    between: Pick<DiffQuery, 'from' | 'to'>,
    signal: AbortSignal,
  ): Promise<readonly ChangedFile[]>;
  /** Merges without a half-merged state: a conflict and a refusal leave everything as it is. */
  merge(request: MergeRequest, signal: AbortSignal): Promise<MergeOutcome>;
}

export type RepositorySummary = {
  /** Undefined for a detached HEAD. */
  readonly branch: string | undefined;
  /** Undefined before the first commit. */
  readonly head: CommitId | undefined;
};

type DiffQuery = {
  readonly from: CommitId;
  readonly to: CommitId;
  /** Default: 1 MiB. The text is cut off at the end of a line. */
  readonly maxBytes?: number;
};

export type Diff = {
  /** Unified, without renames. Empty if nothing changed. */
  readonly text: string;
  readonly isTruncated: boolean;
};

export type ChangedFile = {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted' | 'type_changed';
  /** After the change; before it for a deleted file. A submodule is a repository in the repository. */
  readonly mode: TrackedFile['mode'] | 'submodule';
};

/** Worktrees of tasks. Their branches are `agenthub/<task_id>`. */
export interface Worktrees {
  /** Creates branch and worktree of a task at a commit, or returns those that exist: then `base` is not used. */
  add(taskId: string, base: CommitId, signal: AbortSignal): Promise<Worktree>;
  /** Undefined if the task has no worktree. */
  find(taskId: string, signal: AbortSignal): Promise<Worktree | undefined>;
  /** Removes the worktree with what is not committed in it, and keeps the branch. False if there is none. */
  remove(taskId: string, signal: AbortSignal): Promise<boolean>;
  /** Removes remains of worktrees whose creation or removal was cut off. */
  prune(signal: AbortSignal): Promise<void>;
}

/** What a task may write. Patterns as in `path-guard.ts`. */
export type PathRules = {
  /** Empty: every path. */
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
};

export type PathFault = { readonly path: string; readonly why: string };

export interface Worktree {
  readonly taskId: string;
  readonly branch: string;
  readonly path: string;
  /** The commit of its branch. */
  head(signal: AbortSignal): Promise<CommitId>;
  /**
   * Writes and deletes files (`content: undefined`). Nothing is written if a path breaks the rules: rejects with
   * HUB_PATH_FORBIDDEN, whose data has `faults`.
   */
  write(files: readonly WorktreeFile[], rules: PathRules, signal: AbortSignal): Promise<void>;
  /** The files of the worktree now, found as `Repository.readFiles` does, and decoded. */
  readFiles(
    paths: readonly string[],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly ReadFile[]>;
  /** Changes of the worktree since a commit, whether committed or not. */
  changes(since: CommitId, signal: AbortSignal): Promise<readonly ChangedFile[]>;
  /** Secrets in the lines that were added since a commit, at most 100. */
  secrets(since: CommitId, signal: AbortSignal): Promise<readonly SecretFinding[]>;
  /** Commits everything in the worktree. Resolves with the head if nothing changed, unless `allowEmpty`. */
  commit(request: CommitRequest, signal: AbortSignal): Promise<CommitId>;
  /** Discards all changes, and moves the branch to the commit. */
  reset(commit: CommitId, signal: AbortSignal): Promise<void>;
}

export type WorktreeFile = {
  readonly path: string;
  /** Undefined: the file is deleted. */
  readonly content: string | Uint8Array | undefined;
};

export type CommitRequest = {
  readonly message: string;
  readonly trailers?: Readonly<Record<string, string>>;
  readonly allowEmpty?: boolean;
};

export type MergeRequest = Pick<CommitRequest, 'message' | 'trailers'> & {
  /** A branch, usually `agenthub/<task_id>`. */
  readonly from: string;
  /** The base branch. */
  readonly into: string;
  /** `fast_forward`: a merge commit only if the base has moved on. */
  readonly strategy: 'fast_forward' | 'merge_commit';
};

export type MergeOutcome =
  /** The branch is merged now, or was merged before. */
  | { readonly kind: 'merged'; readonly commit: CommitId }
  | { readonly kind: 'conflict'; readonly paths: readonly string[] }
  /** The base branch is checked out in a folder with changes (`paths`: some of them), or in another worktree (none). */
  | { readonly kind: 'dirty'; readonly folder: string; readonly paths: readonly string[] };

export type AcceptanceRun = {
  readonly repository: Repository;
  readonly worktree: Worktree;
  readonly commands: readonly string[];
  /** An image on the engine with a shell. Default: `agenthub/git`, with Node, npm and git. */
  readonly image?: string;
  /** Timeout of all commands together, in ms. */
  readonly timeoutMs: number;
};

export type AcceptanceReport = {
  readonly passed: boolean;
  /** One per command, in order. After a timeout the rest has `exitCode` undefined. */
  readonly commands: readonly CommandResult[];
  readonly image: string;
};

export type CommandResult = {
  readonly command: string;
  /** Undefined if it did not end. */
  readonly exitCode: number | undefined;
  /** The end of stdout and stderr, at most 16 KiB, without secrets. */
  readonly output: string;
  readonly durationMs: number;
  readonly timedOut: boolean;
};

/** A secret in the added lines of a diff. Never has its value. */
export type SecretFinding = {
  readonly path: string;
  /** Line in the changed file, from 1. */
  readonly line: number;
  /** What it looks like, such as `private key`. */
  readonly what: string;
};
