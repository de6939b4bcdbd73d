import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type WriteFailureNeeds, createWriteFailures } from './write-failures.ts';
import { removeTempFiles, writeWhole } from './write-whole.ts';

export type Folder = ReturnType<typeof createFolder>;

/**
 * Creates access to a folder of texts at `path`, one file for each name. The first write creates the folder. Names must
 * be server names: they are not checked for path separators. Only this object may write there: on first use it removes
 * all temporary files in the folder. A text whose write failed stays in memory for the backlog to retry.
 */
export function createFolder(path: string, needs: WriteFailureNeeds) {
  const failures = createWriteFailures(needs);
  /** Pending writes by name: the newest text (undefined deletes the file) and the write in progress. */
  const pending = new Map<string, { text: string | undefined; done: Promise<void> }>();
  let prepared: Promise<void> | undefined;
  const prepare = () => (prepared ??= removeTempFiles(path));
  const fileOf = (name: string) => join(path, `${name}.json`);

  async function writeNow(name: string, text: string | undefined): Promise<void> {
    const file = fileOf(name);
    try {
      await prepare();
      if (text === undefined) await rm(file, { force: true });
      else {
        await mkdir(path, { recursive: true, mode: 0o700 });
        await writeWhole(file, text);
      }
      failures.clear(file);
    } catch (error) {
      // If a write of this name is pending at the time of the retry, its text is newer and is written instead.
      failures.record(file, error, () => pending.get(name)?.done ?? queueWrite(name, text));
    }
  }

  /** Queues a write. While another write of the name is in progress, only the newest text is kept. */
  function queueWrite(name: string, text: string | undefined): Promise<void> {
    const before = pending.get(name);
    if (before) {
      before.text = text;
      return before.done;
    }
    const next = { text, done: Promise.resolve() };
    pending.set(name, next);
    next.done = (async () => {
      let written: string | undefined;
      do {
        written = next.text;
        await writeNow(name, written);
      } while (next.text !== written);
      pending.delete(name);
    })();
    return next.done;
  }

  return {
    /** Reads the text from disk. Undefined if the file is absent or cannot be read. */
    async read(name: string): Promise<string | undefined> {
      try {
        await prepare();
        return await readFile(fileOf(name), 'utf8');
      } catch {
        return undefined; // A missing file has no text.
      }
    },
    /** Resolves once this text, or a later one, is on disk. Never rejects: a failed write is logged. */
    write: (name: string, text: string) => queueWrite(name, text),
    /** Deletes the file of this name. Resolves and logs as `write` does. */
    remove: (name: string) => queueWrite(name, undefined),
  };
}
