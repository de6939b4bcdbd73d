import { readFile } from 'node:fs/promises';
import { type Log, isObject, messageOf } from '#core';
import { type TroubleNeeds, createTrouble } from './trouble.ts';
import { writeWhole } from './write-whole.ts';

/** A few small texts by key, kept in one file: what costs time to find out again, and no more. */
export interface Table {
  find(key: string): Promise<string | undefined>;
  /** All of them, the oldest first. */
  entries(): Promise<readonly (readonly [key: string, value: string])[]>;
  /**
   * Resolves when it is written, with false where it could not be. Never rejects: that is kept for this run
   * of the hub, and written with the next change that can be.
   */
  put(key: string, value: string): Promise<boolean>;
  remove(key: string): Promise<void>;
}

export type TableOptions = {
  /** Undefined: nothing is written. */
  readonly file: string | undefined;
  /** Of more than this many entries the oldest is dropped. */
  readonly maxEntries: number;
};

/** A table whose file is read when it is first asked. One that cannot be read counts as empty. */
export function createTable(options: TableOptions, needs: TroubleNeeds): Table {
  const { file, maxEntries } = options;
  const { log } = needs;
  const trouble = createTrouble(needs);
  let opened: Promise<Map<string, string>> | undefined;
  /** False where the file does not hold what it should. */
  let writing = Promise.resolve(true);
  let waiting = false;

  const open = () => (opened ??= file === undefined ? Promise.resolve(new Map()) : read(file, log));

  /** Changes that come while the file is written are written together, after it. */
  function write(entries: ReadonlyMap<string, string>): Promise<boolean> {
    if (file === undefined || waiting) return writing;
    waiting = true;
    writing = writing.then(async () => {
      waiting = false;
      try {
        await writeWhole(file, `${JSON.stringify(Object.fromEntries(entries), undefined, 1)}\n`);
        trouble.end(file);
        return true;
      } catch (error) {
        trouble.begin(file, error, () => write(entries));
        return false;
      }
    });
    return writing;
  }

  const isBehind = () => file !== undefined && trouble.has(file);

  return {
    async find(key) {
      return (await open()).get(key);
    },
    async entries() {
      return Array.from(await open());
    },
    async put(key, value) {
      const entries = await open();
      if (entries.get(key) === value && !isBehind()) return await writing;
      entries.delete(key);
      entries.set(key, value);
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) break;
        entries.delete(oldest);
      }
      return await write(entries);
    },
    async remove(key) {
      const entries = await open();
      if (entries.delete(key) || isBehind()) await write(entries);
    },
  };
}

async function read(file: string, log: Log): Promise<Map<string, string>> {
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (!isObject(content)) throw new Error('it holds no object');
    return new Map(
      Object.entries(content).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, value] as const] : [],
      ),
    );
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT'))
      log.warn({ file, error: messageOf(error) }, 'a file of the hub is not read and begun anew');
    return new Map();
  }
}
