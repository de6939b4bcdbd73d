import { type Log, messageOf } from '#core';

/** A file whose last write failed. */
export type WriteFailure = {
  readonly file: string;
  /** The error message of the system, such as a full disk or a missing permission. */
  readonly reason: string;
};

/** Failed writes of several writers, for a health check to retry. Holds at most one entry for each file. */
export interface Backlog {
  /** `retryWrite` writes the file again, then calls `add` or `remove` for it. It must not reject. */
  add(failure: WriteFailure, retryWrite: () => Promise<unknown>): void;
  remove(file: string): void;
  /** Retries all failed writes. Resolves to those that still fail. */
  retry(): Promise<readonly WriteFailure[]>;
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  const failed = new Map<string, WriteFailure & { readonly retryWrite: () => Promise<unknown> }>();
  return {
    add: (failure, retryWrite) => void failed.set(failure.file, { ...failure, retryWrite }),
    remove: file => void failed.delete(file),
    async retry() {
      for (const { retryWrite } of Array.from(failed.values())) await retryWrite();
      return Array.from(failed.values(), ({ file, reason }) => ({ file, reason }));
    },
  };
}

/** What a table or a folder needs in order to report failed writes. */
export type WriteFailureNeeds = {
  readonly log: Log;
  /** If absent, failed writes are not retried until the next change. */
  readonly backlog?: Backlog | undefined;
};

/** The failed writes of one writer. Logs the first failure and the recovery, not every attempt. */
export function createWriteFailures({ log, backlog }: WriteFailureNeeds) {
  const failed = new Set<string>();
  return {
    /** Whether the last write of this file failed. */
    has: (file: string) => failed.has(file),
    /** Records a failed write. `retryWrite` is passed to `Backlog.add`. */
    record(file: string, error: unknown, retryWrite: () => Promise<unknown>): void {
      const isFirst = failed.size === 0;
      const reason = messageOf(error);
      failed.add(file);
      backlog?.add({ file, reason }, retryWrite);
      if (isFirst) log.warn({ file, error: reason }, 'a file of the hub could not be written');
    },
    clear(file: string): void {
      if (!failed.delete(file)) return;
      backlog?.remove(file);
      if (failed.size === 0) log.info({ file }, 'files of the hub are written again');
    },
  };
}
