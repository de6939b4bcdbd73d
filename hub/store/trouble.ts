import { type Log, messageOf } from '#core';

/** Files that could not be written, told once and not for each attempt. */
export interface Trouble {
  /** Whether what the file should hold is not in it. */
  has(file: string): boolean;
  begin(file: string, error: unknown): void;
  end(file: string): void;
}

/** There is none as yet. As many files as the caller writes are remembered, at the most. */
export function createTrouble({ log }: { readonly log: Log }): Trouble {
  const behind = new Set<string>();
  return {
    has: file => behind.has(file),
    begin(file, error) {
      const isFirst = behind.size === 0;
      behind.add(file);
      if (isFirst)
        log.warn({ file, error: messageOf(error) }, 'a file of the hub could not be written');
    },
    end(file) {
      if (behind.delete(file) && behind.size === 0)
        log.info({ file }, 'files of the hub are written again');
    },
  };
}
