import { type Clock, createTicker } from '#core';
import type { Activity } from './activity.ts';
import { createCallFiles } from './call-files.ts';
import { createCallLines, parseCall } from './call-line.ts';
import type { CallSummary } from './call.ts';

type CallStoreOptions = {
  /** False: calls are kept in memory only, and stored calls are removed. */
  readonly store: boolean;
  /** Maximum size of both files together, in bytes. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
};

type Needs = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly redact: (text: string) => string;
  /** Reports that calls cannot be read or written: once, until this works again. */
  readonly warn: (error: unknown) => void;
  /** Reports the number of lines that could not be parsed. */
  readonly skipped: (lines: number) => void;
};

/** Interval of writes, in ms. If the hub is killed, the calls since the last write are lost. */
const writeMs = 1_000;
/** Maximum number of calls per write. Other work can run between two writes. */
const maxBatch = 500;

/** Creates the store of calls in a folder of its own. Call `open` first, then `follow` for the calls of this run. */
export function createCallStore(folder: string, options: () => CallStoreOptions, needs: Needs) {
  const { clock, warn } = needs;
  const files = createCallFiles(folder);
  let followed: { readonly activity: Activity; writtenId: number } | undefined;
  let isStored = options().store;
  let busy: Promise<void> = Promise.resolve();
  let isFailing = false;

  const due = createTicker(clock, writeMs, () => {
    void write();
    return false;
  });

  /** Runs operations on the files one after the other. Reports consecutive failures once. */
  function queue(work: () => Promise<void>): Promise<void> {
    busy = busy.then(work).then(
      () => void (isFailing = false),
      (error: unknown) => {
        if (!isFailing) warn(error);
        isFailing = true;
      },
    );
    return busy;
  }

  const write = (): Promise<void> => queue(writeNow);

  async function writeNow(): Promise<void> {
    const { store, maxBytes } = options();
    if (!followed || !store) return;
    const lines = createCallLines(needs.redact);
    for (;;) {
      const writtenId = followed.activity.visit(followed.writtenId, maxBatch, call =>
        lines.add(call),
      );
      if (writtenId === followed.writtenId) return;
      // A failed write is not repeated, as it may have written some of the calls.
      followed.writtenId = writtenId;
      await files.append(lines.take(), maxBytes / 2);
    }
  }

  return {
    start: async (): Promise<void> => {},
    /** Removes files that are too old. Resolves with the ids of the newest call and session of earlier runs, or 0. */
    async open(): Promise<{ readonly lastId: number; readonly lastSession: number }> {
      let calls: readonly CallSummary[] = [];
      await queue(async () => {
        if (!options().store) return await files.remove();
        await files.removeBefore(clock.now() - options().maxAgeMs);
        calls = (await files.lastLines()).flatMap(line => parseCall(line) ?? []);
      });
      const sessions = calls.map(({ session }) => Number(session)).filter(Number.isSafeInteger);
      return { lastId: calls.at(-1)?.id ?? 0, lastSession: Math.max(0, ...sessions) };
    },
    /** Reads the newest calls of earlier runs, the oldest first. Returns none if the files cannot be read. */
    async read(most: number): Promise<readonly CallSummary[]> {
      const after = clock.now() - options().maxAgeMs;
      let found: readonly CallSummary[] = [];
      await queue(async () => {
        const lines = (await files.lines()).slice(-most);
        const calls = lines.flatMap(line => parseCall(line) ?? []);
        if (calls.length < lines.length) needs.skipped(lines.length - calls.length);
        found = calls.filter(({ at }) => at > after);
      });
      return found;
    },
    /** Starts to write the calls of this run. */
    follow(activity: Activity): void {
      followed = { activity, writtenId: activity.lastId };
      activity.changed(() => due.start());
    },
    /** Applies changed options. Calls from the time when storing was off are never written. */
    async apply(): Promise<void> {
      const wasStored = isStored;
      isStored = options().store;
      if (followed && isStored && !wasStored) followed.writtenId = followed.activity.lastId;
      if (!isStored) await queue(() => files.remove());
    },
    async stop(): Promise<void> {
      due[Symbol.dispose]();
      await write();
    },
  };
}
