import type { Service } from '#core';
import type { Principal } from '#policy';
import type { FileBytes, ReadFile, ReadLimits, TrackedFile } from './file-types.ts';

/** The id of a commit, in hex. */
export type CommitId = string;

/** Opens git repositories and folders of the user. Git never runs in the hub: see `decisions/0034`. */
export interface Repositories {
  /** `stop` closes everything that is open. `start` does nothing: the runtimes remove leftovers of earlier runs. */
  readonly service: Service;
  /**
   * Resolves the links in a path and returns the real path. Without the administer grant, it must lie in a folder of
   * `repositories` in the config. Rejects with HUB_PATH_REFUSED, and with HUB_REPOSITORY_UNKNOWN if the path does not
   * exist.
   */
  requireAllowed(path: string, principal: Principal): Promise<string>;
  /**
   * Opens the repository whose top folder is `path`. Several handles of one repository share one container, which is
   * closed a while after the last handle was disposed. Rejects with HUB_PATH_REFUSED, HUB_REPOSITORY_UNKNOWN (no
   * repository), HUB_REPOSITORY_REFUSED (its owner, its layout or its config), or HUB_REPOSITORIES_FULL.
   */
  open(path: string, principal: Principal, signal: AbortSignal): Promise<Repository>;
  /** Opens a folder that need not be a repository, such as a vault. Rejects as `open` does. */
  openFolder(path: string, principal: Principal, signal: AbortSignal): Promise<OpenFolder>;
  /**
   * Runs acceptance commands in a container of their own, on a copy of a worktree's files. Without Docker, or if the
   * container is lost, it rejects with HUB_ENGINE_UNREACHABLE; with HUB_IMAGE_MISSING if the image is missing. A
   * command that fails is not an error.
   */
  runAcceptance(run: AcceptanceRun, signal: AbortSignal): Promise<AcceptanceReport>;
}

/** Files of one folder. Paths are relative, with `/`. Neither a path nor a link can lead out of the folder. */
export interface SafeFolder {
  /** Reads a file; undefined if it does not exist. Rejects with HUB_REPOSITORY_LIMIT if it exceeds `maxBytes`. */
  read(path: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Replaces or creates each file atomically, and creates parent folders. */
  write(files: readonly FileContent[], signal: AbortSignal): Promise<void>;
  /** Creates a file. Resolves with false if it exists. */
  create(file: FileContent, signal: AbortSignal): Promise<boolean>;
  /** Removes files, and parent folders that become empty. Files that do not exist are skipped. */
  remove(paths: readonly string[], signal: AbortSignal): Promise<void>;
  /** Returns the paths of all regular files, without links. Rejects with HUB_REPOSITORY_LIMIT for more than 100,000. */
  list(signal: AbortSignal): Promise<readonly string[]>;
}

export interface OpenFolder extends SafeFolder, AsyncDisposable {
  /** Absolute path of the folder, without links. */
  readonly root: string;
  /** Returns the names of the folders in this folder, without links. */
  folders(signal: AbortSignal): Promise<readonly string[]>;
}

export type FileContent = { readonly path: string; readonly content: string | Uint8Array };

/** An open repository. Every operation is bounded in time and bytes, and rejects with HUB_GIT_FAILED if git fails. */
export interface Repository extends AsyncDisposable {
  /** Top folder of the repository: an absolute path without links. */
  readonly root: string;
  /** The folder `_handoff/` in the top folder, which git ignores (`.git/info/exclude`). */
  readonly handoff: SafeFolder;
  /** The folder `agenthub/state/` in the git folder, for data that must survive a kill, such as a lease. */
  readonly state: SafeFolder;
  readonly worktrees: Worktrees;
  summary(signal: AbortSignal): Promise<RepositorySummary>;
  /** Returns the commit of a branch, tag or id. Rejects with HUB_REPOSITORY_UNKNOWN. */
  resolve(revision: string, signal: AbortSignal): Promise<CommitId>;
  /** Lists the files of a commit in the order of git, without submodules. */
  files(commit: CommitId, signal: AbortSignal): Promise<readonly TrackedFile[]>;
  /**
   * Reads files of a commit, named by path or as listed by `files`, in this order. After `maxBytes` in total, further
   * files are `omitted`.
   */
  readFiles(
    commit: CommitId,
    files: readonly (string | TrackedFile)[],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly FileBytes[]>;
  /** Returns the trailers of a commit's message. The last trailer of a name counts. */
  trailers(commit: CommitId, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  diff(query: DiffQuery, signal: AbortSignal): Promise<Diff>;
  /** Lists the files that differ between two commits. */
  changes(
    between: Pick<DiffQuery, 'from' | 'to'>,
    signal: AbortSignal,
  ): Promise<readonly ChangedFile[]>;
  /** Merges branches. A conflict or a refusal changes nothing: there is no half-merged state. */
  merge(request: MergeRequest, signal: AbortSignal): Promise<MergeOutcome>;
}

export type RepositorySummary = {
  /** Branch that is checked out; undefined for a detached HEAD. */
  readonly branch: string | undefined;
  /** Commit that is checked out; undefined before the first commit. */
  readonly head: CommitId | undefined;
};

type DiffQuery = {
  readonly from: CommitId;
  readonly to: CommitId;
  /** Maximum size of the text, which is cut off at the end of a line. Default: 1 MiB. */
  readonly maxBytes?: number;
};

export type Diff = {
  /** Unified diff without renames. Empty if nothing changed. */
  readonly text: string;
  readonly isTruncated: boolean;
};

export type ChangedFile = {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted' | 'type_changed';
  /** Mode after the change, or before it for a deleted file. A submodule is a repository in the repository. */
  readonly mode: TrackedFile['mode'] | 'submodule';
};

/** Worktrees of tasks. Their branches are `agenthub/<task_id>`. */
export interface Worktrees {
  /** Creates branch and worktree of a task at a commit. If they exist, returns the worktree and ignores `base`. */
  add(taskId: string, base: CommitId, signal: AbortSignal): Promise<Worktree>;
  /** Returns the worktree of a task; undefined if it has none. */
  find(taskId: string, signal: AbortSignal): Promise<Worktree | undefined>;
  /**
   * Removes the worktree with all uncommitted changes, but not the branch. Resolves with false if there is no worktree.
   */
  remove(taskId: string, signal: AbortSignal): Promise<boolean>;
  /** Removes remains of worktrees whose creation or removal was interrupted. */
  prune(signal: AbortSignal): Promise<void>;
}

/** Paths that a task may write, as patterns of `path-patterns.ts`. */
export type PathRules = {
  /** Allowed paths. Empty: all paths. */
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
};

export type PathFault = { readonly path: string; readonly why: string };

export interface Worktree {
  readonly taskId: string;
  readonly branch: string;
  readonly path: string;
  /** Returns the commit of the worktree's branch. */
  head(signal: AbortSignal): Promise<CommitId>;
  /**
   * Writes files, and deletes those with `content: undefined`. If a path breaks the rules, writes nothing and rejects
   * with HUB_PATH_FORBIDDEN, whose data has `faults`.
   */
  write(files: readonly WorktreeFile[], rules: PathRules, signal: AbortSignal): Promise<void>;
  /** Reads current files of the worktree, as `Repository.readFiles` does, and decodes them. */
  readFiles(
    paths: readonly string[],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly ReadFile[]>;
  /** Returns the filters of files, such as `lfs`, by path. They do not run. Files without a filter are absent. */
  filters(paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Lists the changes of the worktree since a commit, whether committed or not. */
  changes(since: CommitId, signal: AbortSignal): Promise<readonly ChangedFile[]>;
  /** Finds secrets in the lines that were added since a commit, at most 100. */
  secrets(since: CommitId, signal: AbortSignal): Promise<readonly SecretFinding[]>;
  /** Commits all changes in the worktree. If there are none, returns the current commit, unless `allowEmpty`. */
  commit(request: CommitRequest, signal: AbortSignal): Promise<CommitId>;
  /** Discards all changes, and moves the branch to this commit. */
  reset(commit: CommitId, signal: AbortSignal): Promise<void>;
}

export type WorktreeFile = {
  readonly path: string;
  /** New content; undefined deletes the file. */
  readonly content: string | Uint8Array | undefined;
};

export type CommitRequest = {
  readonly message: string;
  readonly trailers?: Readonly<Record<string, string>>;
  readonly allowEmpty?: boolean;
};

export type MergeRequest = Pick<CommitRequest, 'message' | 'trailers'> & {
  /** The branch to merge, usually `agenthub/<task_id>`. */
  readonly from: string;
  /** The base branch, which is moved by the merge. */
  readonly into: string;
  /** `fast_forward`: makes a merge commit only if the base branch has commits that `from` lacks. */
  readonly strategy: 'fast_forward' | 'merge_commit';
};

export type MergeOutcome =
  /** The branch is merged now, or was merged before. */
  | { readonly kind: 'merged'; readonly commit: CommitId }
  | { readonly kind: 'conflict'; readonly paths: readonly string[] }
  /**
   * The base branch is checked out in a folder with changes (`paths`: some of them), or in another worktree (no paths).
   */
  | { readonly kind: 'dirty'; readonly folder: string; readonly paths: readonly string[] };

export type AcceptanceRun = {
  readonly repository: Repository;
  readonly worktree: Worktree;
  readonly commands: readonly string[];
  /** Name of an image on the engine that has a shell. Default: `agenthub/git`, with Node, npm and git. */
  readonly image?: string;
  /** Timeout of all commands together, in ms. */
  readonly timeoutMs: number;
};

export type AcceptanceReport = {
  readonly passed: boolean;
  /** One result per command, in order. After a timeout, `exitCode` is undefined for the remaining commands. */
  readonly commands: readonly CommandResult[];
  readonly image: string;
};

export type CommandResult = {
  readonly command: string;
  /** Undefined if the command did not end. */
  readonly exitCode: number | undefined;
  /** The end of the command's stdout and stderr, at most 16 Ki characters, without secrets. */
  readonly output: string;
  readonly durationMs: number;
  readonly timedOut: boolean;
};

/** A secret in the added lines of a diff. Never contains the secret's value. */
export type SecretFinding = {
  readonly path: string;
  /** Line number in the changed file, from 1. */
  readonly line: number;
  /** Kind of the secret, such as `a private key`. */
  readonly what: string;
};
