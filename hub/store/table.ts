import { readFile } from 'node:fs/promises';
import { type Log, errorCodeOf, isObject, messageOf, setBounded } from '#core';
import { type WriteFailureNeeds, createWriteFailures } from './write-failures.ts';
import { writeWhole } from './write-whole.ts';

export type Table = ReturnType<typeof createTable>;

type TableOptions = {
  /** Path of the JSON file. Undefined keeps the table in memory only. */
  readonly file: string | undefined;
  /** Maximum number of entries. Above it, the oldest is dropped. */
  readonly maxEntries: number;
};

/** Creates a small table in one JSON file, for caches only: a file that cannot be read counts as empty. */
export function createTable({ file, maxEntries }: TableOptions, needs: WriteFailureNeeds) {
  const failures = createWriteFailures(needs);
  let loaded: Promise<Map<string, string>> | undefined;
  /** Resolves when the last write is done; with false if it failed. */
  let lastWrite = Promise.resolve(true);
  let isQueued = false;

  const load = () =>
    (loaded ??= file === undefined ? Promise.resolve(new Map()) : read(file, needs.log));

  /** Writes the table. Changes made during a write are combined into one write after it. */
  function write(entries: ReadonlyMap<string, string>): Promise<boolean> {
    if (file === undefined || isQueued) return lastWrite;
    isQueued = true;
    lastWrite = lastWrite.then(async () => {
      isQueued = false;
      try {
        await writeWhole(file, `${JSON.stringify(Object.fromEntries(entries), undefined, 1)}\n`);
        failures.clear(file);
        return true;
      } catch (error) {
        failures.record(file, error, () => write(entries));
        return false;
      }
    });
    return lastWrite;
  }

  const isUnsaved = () => file !== undefined && failures.has(file);

  return {
    async find(key: string): Promise<string | undefined> {
      return (await load()).get(key);
    },
    /** Returns all entries, the oldest first. */
    async entries(): Promise<readonly (readonly [key: string, value: string])[]> {
      return Array.from(await load());
    },
    /** Sets an entry. Resolves with false if it could not be written; the next change then writes it. Never rejects. */
    async put(key: string, value: string): Promise<boolean> {
      const entries = await load();
      if (entries.get(key) === value && !isUnsaved()) return await lastWrite;
      setBounded(entries, key, value, maxEntries);
      return await write(entries);
    },
    async remove(key: string): Promise<void> {
      const entries = await load();
      if (entries.delete(key) || isUnsaved()) await write(entries);
    },
  };
}

async function read(file: string, log: Log): Promise<Map<string, string>> {
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (!isObject(content)) throw new Error('it does not hold a JSON object');
    const entries = new Map<string, string>();
    for (const [key, value] of Object.entries(content))
      if (typeof value === 'string') entries.set(key, value);
    return entries;
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT')
      log.warn(
        { file, error: messageOf(error) },
        'a file of the hub could not be read: starting with an empty one',
      );
    return new Map();
  }
}
