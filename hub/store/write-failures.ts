import { type Log, messageOf } from '#core';

/** A file whose last write failed. */
export type WriteFailure = {
  readonly file: string;
  /** The error message of the system, such as a full disk or a missing permission. */
  readonly reason: string;
};

type RetryWrite = () => Promise<unknown>;

export type Backlog = ReturnType<typeof createBacklog>;

/** Collects failed writes of several writers, for a health check to retry. Contains at most one entry for each file. */
export function createBacklog() {
  const failed = new Map<string, WriteFailure & { readonly retryWrite: RetryWrite }>();
  return {
    /**
     * Adds a failed write. `retryWrite` writes the file again, then calls `add` or `remove` for it. It must not reject.
     */
    add: (failure: WriteFailure, retryWrite: RetryWrite) =>
      void failed.set(failure.file, { ...failure, retryWrite }),
    remove: (file: string) => void failed.delete(file),
    /** Retries all failed writes. Resolves with those that still fail. */
    async retry(): Promise<readonly WriteFailure[]> {
      // Looked up again for each file: during a retry, another file may have got newer content, which an older retry
      // must not replace.
      for (const file of Array.from(failed.keys())) await failed.get(file)?.retryWrite();
      return Array.from(failed.values(), ({ file, reason }) => ({ file, reason }));
    },
  };
}

export type WriteFailureNeeds = {
  readonly log: Log;
  /** If absent, failed writes are not retried until the next change. */
  readonly backlog?: Backlog | undefined;
};

/** Tracks the failed writes of one writer. Logs the first failure and the recovery, not every attempt. */
export function createWriteFailures({ log, backlog }: WriteFailureNeeds) {
  const failed = new Set<string>();
  return {
    /** True if the last write of this file failed. */
    has: (file: string) => failed.has(file),
    /** Records a failed write. `retryWrite` is passed to `Backlog.add`. */
    record(file: string, error: unknown, retryWrite: RetryWrite): void {
      const isFirst = failed.size === 0;
      const reason = messageOf(error);
      failed.add(file);
      backlog?.add({ file, reason }, retryWrite);
      if (isFirst) log.warn({ file, error: reason }, 'a file of the hub could not be written');
    },
    /** Forgets a failed write, which is then not retried. */
    drop(file: string): void {
      if (failed.delete(file)) backlog?.remove(file);
    },
    clear(file: string): void {
      if (!failed.delete(file)) return;
      backlog?.remove(file);
      if (failed.size === 0) log.info({ file }, 'files of the hub are written again');
    },
  };
}
