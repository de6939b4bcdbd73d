import { hash } from 'node:crypto';
import { mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeNew } from '#config';
import { HubError } from '#core';
import { type FileChange, type WriteWhole, readExactly, writeBack } from './client/file.ts';

type Needs = {
  /**
   * Returns the absolute path of the records' folder. Records contain earlier texts of files, which may include
   * secrets.
   */
  readonly folder: () => Promise<string>;
  readonly writeWhole: WriteWhole;
  readonly now: () => number;
};

const recordedFile = z.object({
  file: z.string(),
  /** Text of the file before the import; null if the file did not exist. */
  before: z.string().nullable(),
  /** SHA-256 of the text that the import writes; null if it removes the file. */
  after: z.string().nullable(),
  copy: z.string().optional(),
});
type RecordedFile = Readonly<z.output<typeof recordedFile>>;

const storedRecord = z.object({
  at: z.string(),
  /** Names of the servers that the import added to the config. */
  added: z.array(z.string()).readonly(),
  /** Names of the secrets that the import stored. */
  secrets: z.array(z.string()).readonly().default([]),
  files: z.array(recordedFile).readonly(),
});
type StoredRecord = Readonly<z.output<typeof storedRecord>>;

/** Maximum number of records; the oldest is dropped. */
const maxRecords = 20;
const numbered = /^(\d{1,9})\.json$/;

/** The undo record of one import. It is saved before the first change of a file, and only if there is a change. */
export type ImportRecord = Awaited<ReturnType<ReturnType<typeof createImportRecords>['begin']>>;

/** Creates the store of undo records: one file per import, numbered in order. An undo restores files byte for byte. */
export function createImportRecords({ folder, writeWhole, now }: Needs) {
  const save = async (path: string, stored: StoredRecord) =>
    await writeWhole(path, textOf(stored), async () => {});

  /** Saves a record under the first free number from `number`, which no import at the same time gets. */
  async function saveNew(number: number, records: string, stored: StoredRecord): Promise<string> {
    const path = join(records, `${number}.json`);
    if (!(await writeNew(path, textOf(stored), 0o600)))
      return await saveNew(number + 1, records, stored);
    try {
      // Writes it again, because only this write survives a power failure.
      await save(path, stored);
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async function newestPath(): Promise<string | undefined> {
    const records = await folder();
    const last = (await numbersIn(records)).at(-1);
    return last === undefined ? undefined : join(records, `${last}.json`);
  }

  return {
    async begin(
      added: readonly string[],
      changes: readonly FileChange[],
      secrets: readonly string[] = [],
    ) {
      const records = await folder();
      await mkdir(records, { recursive: true, mode: 0o700 });
      const numbers = await numbersIn(records);
      let stored: StoredRecord = {
        at: new Date(now()).toISOString(),
        added,
        secrets,
        files: changes.map(recordOf),
      };
      /** Path of the record; undefined while it is not saved. */
      let path: string | undefined;

      /**
       * Saves the record, or removes it if the import changes nothing: an undo must then revert the import before it.
       */
      async function keep(next: StoredRecord): Promise<void> {
        stored = next;
        if (next.files.length + secrets.length > 0) {
          if (path !== undefined) return await save(path, next);
          for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - maxRecords)))
            await rm(join(records, `${old}.json`), { force: true });
          path = await saveNew((numbers.at(-1) ?? 0) + 1, records, next);
        } else if (path !== undefined) {
          await rm(path, { force: true });
          path = undefined;
        }
      }

      await keep(stored);
      return {
        async add(more: readonly FileChange[]) {
          await keep({ ...stored, files: [...stored.files, ...more.map(recordOf)] });
        },
        /** Removes files that were not changed, so that later changes by other programs do not block an undo. */
        async forget(unchanged: ReadonlySet<string>) {
          await keep({ ...stored, files: stored.files.filter(({ file }) => !unchanged.has(file)) });
        },
        /**
         * Undoes this import, as `undo` does, but leaves its secrets. Does nothing if it has changed nothing: the newest
         * record is then that of an earlier import.
         */
        async revert() {
          if (path !== undefined) await undoAt(path);
        },
        /** Adds the backup of a file, which an undo deletes. */
        async addBackup(file: string, copy: string) {
          const files = stored.files.map(one => (one.file === file ? { ...one, copy } : one));
          await keep({ ...stored, files });
        },
      };
    },

    /** Returns the newest import that is not undone, without texts of files; undefined if there is none. */
    newest: async () => {
      const path = await newestPath();
      return path === undefined ? undefined : summaryOf(await read(path));
    },

    /**
     * Restores every file of the newest import, then removes its secrets. Rejects with HUB_CONFIG_CONFLICT, changing
     * nothing, if one of the files changed after the import. The record is removed last: if an undo fails, the next one
     * continues it instead of undoing an earlier import.
     */
    undo: async (removeSecrets: (names: readonly string[]) => Promise<void>) => {
      const path = await newestPath();
      return path === undefined ? undefined : await undoAt(path, removeSecrets);
    },
  };

  async function undoAt(
    path: string,
    removeSecrets: (names: readonly string[]) => Promise<void> = async () => {},
  ) {
    const stored = await read(path);
    // Restore in reverse order, so that clients get their servers back before the hub loses them.
    const found = await Array.fromAsync(stored.files.toReversed(), async each => ({
      ...each,
      text: (await readExactly(each.file)) ?? null,
    }));
    const changed = found.filter(({ before, after, text }) => {
      const digest = text === null ? null : digestOf(text);
      return text !== before && digest !== after;
    });
    if (changed.length > 0) throw conflictError(changed, stored);
    for (const { file, text, before, copy } of found) {
      const change = { file, before: text ?? undefined, after: before ?? undefined };
      // An interrupted undo may have restored this file already.
      if (text !== before) await writeBack(change, writeWhole);
      if (copy !== undefined && (await readExactly(copy)) === before)
        await rm(copy, { force: true });
    }
    if (stored.secrets.length > 0) await removeSecrets(stored.secrets);
    await rm(path);
    return summaryOf(stored);
  }
}

const textOf = (stored: StoredRecord) => `${JSON.stringify(stored, undefined, 2)}\n`;

const digestOf = (text: string) => hash('sha256', text);

const recordOf = ({ file, before, after }: FileChange): RecordedFile => ({
  file,
  before: before ?? null,
  after: after === undefined ? null : digestOf(after),
});

const summaryOf = ({ at, added, secrets, files }: StoredRecord) => ({
  at,
  added,
  ...(secrets.length > 0 && { secrets }),
  files: files.map(({ file }) => file),
});

async function numbersIn(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .flatMap(name => numbered.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

async function read(path: string): Promise<StoredRecord> {
  try {
    return storedRecord.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw unreadable(path, error);
  }
}

const unreadable = (path: string, cause: unknown) =>
  new HubError(
    'HUB_CONFIG_INVALID',
    `${path}: it is not a record of an import. Remove it; backups of the clients' files are beside them`,
    { cause },
  );

function conflictError(changed: readonly RecordedFile[], { added, at }: StoredRecord): HubError {
  const names = changed.map(({ file }) => file).join(', ');
  const copies = changed.flatMap(({ copy }) => copy ?? []);
  const taking =
    added.length > 0 ? ` take the servers out by "agenthub remove ${added.join(' ')}"` : '';
  const copied = copies.length > 0 ? ` and restore the copies by hand: ${copies.join(', ')}` : '';
  return new HubError(
    'HUB_CONFIG_CONFLICT',
    `${names}: changed after the import of ${at}, so nothing was undone. Reverse the later change and try again, or${taking || ' change it by hand'}${copied}`,
  );
}
