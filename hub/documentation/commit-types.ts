import type { ReadFile, Repository } from '#repositories';
import type { NoteVault } from './vault/vault-types.ts';

type TrackedFile = Awaited<ReturnType<Repository['files']>>[number];

/** The repository at the commit of a run. */
export interface CommitFiles {
  files(): Promise<readonly TrackedFile[]>;
  readFiles(
    files: readonly (string | TrackedFile)[],
    limits: { readonly fileBytes: number; readonly maxBytes: number },
  ): Promise<readonly ReadFile[]>;
}

/** The vault of a run. */
export interface CommitNotes {
  list(folder: string): Promise<readonly string[]>;
  read(path: string): Promise<string | undefined>;
  write(notes: Parameters<NoteVault['write']>[0]): Promise<void>;
  remove(path: string): Promise<void>;
}

/** Time, for limits of durations. */
export interface CommitClock {
  /** Calls `work` once after `delayMs`; disposing cancels it. */
  after(delayMs: number, work: () => void): Disposable;
}
