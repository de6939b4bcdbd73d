import { type Log, messageOf } from '#core';

/** A file whose last write failed. */
export type WriteFailure = {
  readonly file: string;
  /** The error message of the system, such as a full disk or a missing permission. */
  readonly reason: string;
};

type RetryWrite = () => Promise<unknown>;

export type Backlog = ReturnType<typeof createBacklog>;

/** Failed writes of several writers, for a health check to retry. Holds at most one entry for each file. */
export function createBacklog() {
  const failed = new Map<string, WriteFailure & { readonly retryWrite: RetryWrite }>();
  return {
    /** `retryWrite` writes the file again, then calls `add` or `remove` for it. It must not reject. */
    add: (failure: WriteFailure, retryWrite: RetryWrite) =>
      void failed.set(failure.file, { ...failure, retryWrite }),
    remove: (file: string) => void failed.delete(file),
    /** Retries all failed writes. Resolves to those that still fail. */
    async retry(): Promise<readonly WriteFailure[]> {
      // During one retry another file may have got newer content, which its earlier retry must not replace.
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

/** The failed writes of one writer. Logs the first failure and the recovery, not every attempt. */
export function createWriteFailures({ log, backlog }: WriteFailureNeeds) {
  const failed = new Set<string>();
  return {
    /** Whether the last write of this file failed. */
    has: (file: string) => failed.has(file),
    /** Records a failed write. `retryWrite` is passed to `Backlog.add`. */
    record(file: string, error: unknown, retryWrite: RetryWrite): void {
      const isFirst = failed.size === 0;
      const reason = messageOf(error);
      failed.add(file);
      backlog?.add({ file, reason }, retryWrite);
      if (isFirst) log.warn({ file, error: reason }, 'a file of the hub could not be written');
    },
    /** Gives up a write that failed: it is not retried. */
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
