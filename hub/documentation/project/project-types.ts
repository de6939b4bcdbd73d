import type { Exclusion, FileOutline } from '../outline/outline-types.ts';

/** Where a statement of a note is shown: a file at the commit, and a line of it from 1. */
export type Citation = { readonly path: string; readonly line: number };

/** A folder with source files. All folders of tests below one folder are one module. */
export type CodeModule = {
  /** Path of the folder; `.` for the top one. */
  readonly folder: string;
  readonly isTests: boolean;
  readonly files: readonly FileOutline[];
  /** Comment or README that says what it is for. */
  readonly summary: (Citation & { readonly text: string }) | undefined;
  /** Folders of the modules that its files import, and the files that do. */
  readonly uses: ReadonlyMap<string, readonly string[]>;
  readonly usedBy: readonly string[];
  /** Names of the packages that it imports. */
  readonly packages: readonly string[];
};

export type EntryPoint = Citation & {
  /** Such as `bin agenthub` or `script start`. */
  readonly what: string;
  /** The file or the command that it runs. */
  readonly target: string;
};

export type RepositoryDocument = Citation & { readonly title: string };

/** What the documentation says about a repository at a commit, without a model. */
export type Project = {
  readonly name: string;
  readonly root: string;
  readonly commit: string;
  readonly modules: readonly CodeModule[];
  readonly entryPoints: readonly EntryPoint[];
  readonly documents: readonly RepositoryDocument[];
  /** The first paragraph of the README. */
  readonly introduction: (Citation & { readonly text: string }) | undefined;
  readonly excluded: readonly Exclusion[];
  /** Number of tracked files. */
  readonly trackedFiles: number;
};

/** A file that is no source: its text is read for what it says about the project. */
export type ProjectFile = { readonly path: string; readonly text: string };
