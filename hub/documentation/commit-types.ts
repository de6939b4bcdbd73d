import type { ReadFile, Repository } from '#repositories';
import type { NoteVault } from './vault/vault-types.ts';

type TrackedFile = Awaited<ReturnType<Repository['files']>>[number];

/** Access to the files of the repository at the commit of a run. */
export interface CommitFiles {
  files(): Promise<readonly TrackedFile[]>;
  readFiles(
    files: readonly (string | TrackedFile)[],
    limits: { readonly fileBytes: number; readonly maxBytes: number },
  ): Promise<readonly ReadFile[]>;
}

/** Access to the notes in the vault of a run. */
export interface CommitNotes {
  list(folder: string): Promise<readonly string[]>;
  read(path: string): Promise<string | undefined>;
  write(notes: Parameters<NoteVault['write']>[0]): Promise<void>;
  remove(path: string): Promise<void>;
}

/** The part of the hub's clock that limits durations. */
export interface CommitClock {
  /** Calls `work` once after `delayMs`. Disposing cancels it. */
  after(delayMs: number, work: () => void): Disposable;
}
