import { type Log, messageOf } from '#core';

/** A file of the hub that does not hold what it should. */
export type Unwritten = {
  readonly file: string;
  /** What the system says of it: a full disk, no permission. */
  readonly reason: string;
};

/** What several writers could not write. As many files as they write are remembered, at the most. */
export interface Backlog {
  /** `again` tries once more, and adds it anew or takes it out. It must not reject. */
  add(unwritten: Unwritten, again: () => Promise<unknown>): void;
  remove(file: string): void;
  /** Tries again what could not be written. Answers with what still cannot. */
  retry(): Promise<readonly Unwritten[]>;
}

/** Nothing is in it as yet. */
export function createBacklog(): Backlog {
  const behind = new Map<string, Unwritten & { readonly again: () => Promise<unknown> }>();
  return {
    add: (unwritten, again) => void behind.set(unwritten.file, { ...unwritten, again }),
    remove: file => void behind.delete(file),
    async retry() {
      for (const { again } of Array.from(behind.values())) await again();
      return Array.from(behind.values(), ({ file, reason }) => ({ file, reason }));
    },
  };
}

/** What a table or a folder needs to tell of files that it could not write. */
export type TroubleNeeds = {
  readonly log: Log;
  /** Absent: nobody asks for it, and nothing is tried again by itself. */
  readonly backlog?: Backlog | undefined;
};

/** Files that could not be written, told once and not for each attempt. */
export interface Trouble {
  /** Whether what the file should hold is not in it. */
  has(file: string): boolean;
  /** `again` as of the backlog. */
  begin(file: string, error: unknown, again: () => Promise<unknown>): void;
  end(file: string): void;
}

/** There is none as yet. As many files as the caller writes are remembered, at the most. */
export function createTrouble({ log, backlog }: TroubleNeeds): Trouble {
  const behind = new Set<string>();
  return {
    has: file => behind.has(file),
    begin(file, error, again) {
      const isFirst = behind.size === 0;
      const reason = messageOf(error);
      behind.add(file);
      backlog?.add({ file, reason }, again);
      if (isFirst) log.warn({ file, error: reason }, 'a file of the hub could not be written');
    },
    end(file) {
      if (!behind.delete(file)) return;
      backlog?.remove(file);
      if (behind.size === 0) log.info({ file }, 'files of the hub are written again');
    },
  };
}
