import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ignoreMissing, messageOf } from '#core';
import { type WriteFailureNeeds, createWriteFailures } from './write-failures.ts';
import { syncFolder } from './write-whole.ts';

export type Journal = ReturnType<typeof createJournal>;

type JournalOptions = {
  readonly file: string;
  /**
   * Maximum size of the file in bytes, unless the newest record alone exceeds it. An append that would exceed it
   * compacts the file instead.
   */
  readonly maxBytes: number;
  /**
   * Returns the records of a compacted file, oldest first. They must cover the record that is being appended, so change
   * the state before calling `append`. If they need more than half of `maxBytes`, the oldest are dropped, but never the
   * newest.
   */
  readonly snapshot: () => readonly object[];
};

/** File operations of this machine. New files are readable by this user only. */
const systemDisk = {
  /** Reads a file; undefined if it does not exist. */
  read: (path: string): Promise<Buffer | undefined> => readFile(path).catch(ignoreMissing),
  /** Opens a file for writing, and creates it if it does not exist: `a` appends, `w` empties it first. */
  async open(path: string, flags: 'a' | 'w') {
    const handle = await open(path, flags, 0o600);
    return {
      /** Writes all bytes at the end. May reject after some of them were written. */
      write: (bytes: Buffer) => handle.writeFile(bytes),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  rename: (from: string, to: string) => rename(from, to),
  syncFolder,
};

/** The file operations of a journal, so that a test can make each of them fail. */
export type JournalDisk = Readonly<typeof systemDisk>;

export type JournalNeeds = WriteFailureNeeds & {
  /** File operations. Absent: those of this machine. */
  readonly disk?: JournalDisk;
};

const lineFeed = 0x0a;

/**
 * Creates an append-only file of records, one line of JSON each. A record whose `append` has resolved with true
 * survives a crash and a power failure, as its line is synced before. Creates no file before the first `append`.
 */
export function createJournal(options: JournalOptions, needs: JournalNeeds) {
  const { file: path, maxBytes, snapshot } = options;
  const { log, disk = systemDisk } = needs;
  const failures = createWriteFailures(needs);
  let file: Awaited<ReturnType<JournalDisk['open']>> | undefined;
  /** Size of the file in bytes. */
  let size = 0;
  /** True if the file ends in a partial line or lacks records, so that the next write replaces it. */
  let needsCompaction = false;
  /** Lines that wait for the current write, to be written together with one sync. */
  let next: { readonly lines: string[]; readonly done: Promise<boolean> } | undefined;
  let lastWrite: Promise<unknown> = Promise.resolve();

  function enqueue(line: string): Promise<boolean> {
    if (next) {
      next.lines.push(line);
      return next.done;
    }
    const lines = [line];
    const done = lastWrite.then(async () => {
      next = undefined;
      return await write(lines.join(''));
    });
    next = { lines, done };
    lastWrite = done;
    return done;
  }

  async function write(text: string): Promise<boolean> {
    try {
      const bytes = Buffer.from(text);
      if (needsCompaction || size + bytes.length > maxBytes) await compact();
      else await appendBytes(bytes);
      failures.clear(path);
      return true;
    } catch (error) {
      needsCompaction = true;
      failures.record(path, error, () => enqueue(''));
      return false;
    }
  }

  async function appendBytes(bytes: Buffer): Promise<void> {
    if (!file) {
      file = await disk.open(path, 'a');
      // Syncs the folder, as the name of a new file is not on the disk yet.
      await disk.syncFolder(dirname(path));
    }
    await file.write(bytes);
    await file.sync();
    size += bytes.length;
  }

  /** Replaces the file by a snapshot, with a rename: after a crash, it contains either the old or the new records. */
  async function compact(): Promise<void> {
    const bytes = Buffer.from(newestWithin(snapshot(), maxBytes / 2).join(''));
    const beside = `${path}.new`;
    const copy = await disk.open(beside, 'w');
    try {
      await copy.write(bytes);
      await copy.sync();
      await disk.rename(beside, path);
      await disk.syncFolder(dirname(path));
    } catch (error) {
      await copy.close().catch(() => undefined); // The first error is more useful.
      throw error;
    }
    const replaced = file;
    file = copy;
    size = bytes.length;
    needsCompaction = false;
    await replaced?.close().catch(() => undefined); // The replaced file has no name any more.
  }

  return {
    /**
     * Reads the records of earlier runs, oldest first. Must be called before the first `append`. An unreadable file
     * counts as empty.
     */
    async open(): Promise<readonly unknown[]> {
      try {
        const bytes = await disk.read(path);
        if (!bytes) return [];
        size = bytes.length;
        const { records, damaged, isTorn } = readLines(bytes);
        needsCompaction = isTorn || damaged > 0;
        if (damaged > 0)
          log.warn({ file: path, damaged }, 'lines of a journal cannot be read and are skipped');
        return records;
      } catch (error) {
        needsCompaction = true;
        log.warn(
          { file: path, error: messageOf(error) },
          'a journal cannot be read: the next record replaces it',
        );
        return [];
      }
    },
    /**
     * Appends a record. Resolves with true when it is on the disk, and with false when it could not be written. Never
     * rejects. After a failure the next append, or the next retry of the backlog, writes a new file from the snapshot,
     * so a missed record is not lost while the hub runs.
     */
    append: (record: object) => enqueue(lineOf(record)),
    /** Waits for current appends, retries a failed write once, and closes the file. */
    async close(): Promise<void> {
      await lastWrite;
      if (failures.has(path)) await enqueue('');
      // Another journal may own the file from now on.
      failures.drop(path);
      await file?.close().catch(() => undefined); // Every line is synced already.
      file = undefined;
    },
  };
}

const lineOf = (record: object) => `${JSON.stringify(record)}\n`;

/**
 * Returns the records of complete lines, the number of lines that are not JSON, and whether the last line is
 * incomplete.
 */
function readLines(bytes: Buffer) {
  const end = bytes.lastIndexOf(lineFeed) + 1;
  const records: unknown[] = [];
  let damaged = 0;
  for (const line of bytes.toString('utf8', 0, end).split('\n').slice(0, -1))
    try {
      records.push(JSON.parse(line));
    } catch {
      damaged++; // Counted and logged by the caller.
    }
  return { records, damaged, isTorn: end < bytes.length };
}

/** Returns the line of the newest record, and those before it that fit into this many bytes, oldest first. */
function newestWithin(records: readonly object[], most: number): readonly string[] {
  const lines: string[] = [];
  let size = 0;
  for (const record of records.toReversed()) {
    const line = lineOf(record);
    size += Buffer.byteLength(line);
    if (size > most && lines.length > 0) break;
    lines.push(line);
  }
  return lines.reverse();
}
