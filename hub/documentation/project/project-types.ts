import type { Exclusion, FileOutline } from '../outline/outline-types.ts';

/** A place that proves a statement in a note: a file at the commit, and a line, counted from 1. */
export type Citation = { readonly path: string; readonly line: number };

/** A folder with source files. All tests below a test folder are one module. */
export type CodeModule = {
  /** Path of the folder; `.` for the top folder. */
  readonly folder: string;
  readonly isTests: boolean;
  readonly files: readonly FileOutline[];
  /** Text of a comment or README about the purpose of the module; undefined if there is none. */
  readonly summary: (Citation & { readonly text: string }) | undefined;
  /** Folders of the modules that this module imports, each with the files that import it. */
  readonly uses: ReadonlyMap<string, readonly string[]>;
  readonly usedBy: readonly string[];
  /** Names of imported packages. */
  readonly packages: readonly string[];
};

export type EntryPoint = Citation & {
  /** Kind of entry point, such as `command agenthub` or `npm run start`. */
  readonly what: string;
  /** File or command that is run. */
  readonly target: string;
};

export type RepositoryDocument = Citation & { readonly title: string };

/** Everything about a repository at a commit that is known without a model. */
export type Project = {
  readonly name: string;
  readonly root: string;
  readonly commit: string;
  readonly modules: readonly CodeModule[];
  readonly entryPoints: readonly EntryPoint[];
  readonly documents: readonly RepositoryDocument[];
  /** First paragraph of the README; undefined if there is none. */
  readonly introduction: (Citation & { readonly text: string }) | undefined;
  readonly excluded: readonly Exclusion[];
  /** Number of files tracked by git. */
  readonly trackedFiles: number;
};

/** A manifest or Markdown file, which is read for information about the project. */
export type ProjectFile = { readonly path: string; readonly text: string };
