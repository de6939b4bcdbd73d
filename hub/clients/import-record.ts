import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HubError, isObject } from '#core';
import { type WriteWhole, type Writing, readExactly, writeBack } from './client-file.ts';

/** What an import has changed, as `import --undo` shows it. */
export type Undoable = {
  readonly at: string;
  /** Servers that the import added to the config. */
  readonly added: readonly string[];
  readonly files: readonly string[];
};

/** The files that one import changes. It is on disk before any of them is written. */
export interface ImportRecord {
  /** Adds files that are about to be written. */
  add(writings: readonly Writing[]): Promise<void>;
  /** Adds the copy that was kept of a file, which an undo removes. */
  keepsCopy(file: string, copy: string): Promise<void>;
}

/** Records of imports, so that each can be undone to the byte. */
export interface ImportRecords {
  begin(added: readonly string[], writings: readonly Writing[]): Promise<ImportRecord>;
  /** The newest import that is not undone; undefined where there is none. */
  newest(): Promise<Undoable | undefined>;
  /**
   * Restores every file of the newest import. Throws HUB_CONFIG_CONFLICT, and changes nothing, where one of them
   * was changed after the import.
   */
  undo(): Promise<Undoable | undefined>;
}

type Needs = {
  /** Where the records are kept, an absolute path. They hold what the files held, which may be keys. */
  readonly folder: () => Promise<string>;
  readonly writeWhole: WriteWhole;
  readonly now: () => number;
};

type RecordedFile = {
  readonly file: string;
  /** The text before; null where there was no file. */
  readonly before: string | null;
  /** A digest of what the import writes; null where it removes the file. */
  readonly after: string | null;
  readonly copy?: string;
};

type Recorded = {
  readonly at: string;
  readonly added: readonly string[];
  readonly files: readonly RecordedFile[];
};

/** Imports that can be undone, one after another; the oldest goes for a further one. */
const maxRecords = 20;
const numbered = /^(\d{1,9})\.json$/;

/** A file for each import in one folder, numbered in the order of the imports. */
export function createImportRecords({ folder, writeWhole, now }: Needs): ImportRecords {
  const save = async (path: string, recorded: Recorded) =>
    await writeWhole(path, `${JSON.stringify(recorded, undefined, 2)}\n`, async () => {});

  async function newestPath(): Promise<string | undefined> {
    const place = await folder();
    const last = (await numbersIn(place)).at(-1);
    return last === undefined ? undefined : join(place, `${last}.json`);
  }

  return {
    async begin(added, writings) {
      const place = await folder();
      await mkdir(place, { recursive: true, mode: 0o700 });
      const numbers = await numbersIn(place);
      for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - maxRecords)))
        await rm(join(place, `${old}.json`), { force: true });
      const path = join(place, `${(numbers.at(-1) ?? 0) + 1}.json`);
      let recorded: Recorded = {
        at: new Date(now()).toISOString(),
        added,
        files: writings.map(recordOf),
      };
      await save(path, recorded);
      return {
        async add(more) {
          recorded = { ...recorded, files: [...recorded.files, ...more.map(recordOf)] };
          await save(path, recorded);
        },
        async keepsCopy(file, copy) {
          const files = recorded.files.map(one => (one.file === file ? { ...one, copy } : one));
          recorded = { ...recorded, files };
          await save(path, recorded);
        },
      };
    },

    async newest() {
      const path = await newestPath();
      return path === undefined ? undefined : undoableOf(await read(path));
    },

    async undo() {
      const path = await newestPath();
      if (path === undefined) return undefined;
      const recorded = await read(path);
      // The clients get their servers back before the hub loses them, and the keys go last.
      const files = recorded.files.toReversed();
      const found: { readonly one: RecordedFile; readonly text: string | undefined }[] = [];
      for (const one of files) found.push({ one, text: await readExactly(one.file) });
      const changed = found.filter(({ one, text }) => !isBefore(one, text) && !isAfter(one, text));
      if (changed.length > 0) throw overtaken(changed, recorded);
      for (const { one, text } of found) {
        // An undo that was interrupted has restored some already.
        if (!isBefore(one, text))
          await writeBack(
            { file: one.file, before: text, after: one.before ?? undefined },
            writeWhole,
          );
        if (one.copy !== undefined && (await readExactly(one.copy)) === one.before)
          await rm(one.copy, { force: true });
      }
      await rm(path);
      return undoableOf(recorded);
    },
  };
}

const isBefore = ({ before }: RecordedFile, text: string | undefined) =>
  text === (before ?? undefined);
const isAfter = ({ after }: RecordedFile, text: string | undefined) =>
  (text === undefined ? null : digestOf(text)) === after;

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

const recordOf = ({ file, before, after }: Writing): RecordedFile => ({
  file,
  before: before ?? null,
  after: after === undefined ? null : digestOf(after),
});

const undoableOf = ({ at, added, files }: Recorded): Undoable => ({
  at,
  added,
  files: files.map(({ file }) => file),
});

async function numbersIn(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .flatMap(name => numbered.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

async function read(path: string): Promise<Recorded> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw unreadable(path, error);
  }
  const { at, added, files } = isObject(value) ? value : {};
  if (typeof at !== 'string' || !Array.isArray(added) || !Array.isArray(files))
    throw unreadable(path);
  return {
    at,
    added: added.map(String),
    files: files.map((one: unknown) => recordedFile(one, path)),
  };
}

function recordedFile(value: unknown, path: string): RecordedFile {
  const { file, before, after, copy } = isObject(value) ? value : {};
  if (typeof file !== 'string' || !isTextOrNull(before) || !isTextOrNull(after))
    throw unreadable(path);
  return { file, before, after, ...(typeof copy === 'string' && { copy }) };
}

const isTextOrNull = (value: unknown): value is string | null =>
  value === null || typeof value === 'string';

const unreadable = (path: string, cause?: unknown) =>
  new HubError(
    'HUB_CONFIG_INVALID',
    `${path}: it is no record of an import. Remove it; copies of the clients' files are beside them`,
    { cause },
  );

function overtaken(
  changed: readonly { readonly one: RecordedFile }[],
  { added, at }: Recorded,
): HubError {
  const names = changed.map(({ one }) => one.file).join(', ');
  const copies = changed.flatMap(({ one }) => one.copy ?? []);
  const taking =
    added.length > 0 ? ` take the servers out by "agenthub remove ${added.join(' ')}"` : '';
  const copied = copies.length > 0 ? ` and restore the copies by hand: ${copies.join(', ')}` : '';
  return new HubError(
    'HUB_CONFIG_CONFLICT',
    `${names}: changed after the import of ${at}, so nothing was undone. Reverse the later change and try again, or${taking || ' change it by hand'}${copied}`,
  );
}
