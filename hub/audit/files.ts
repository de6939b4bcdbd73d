import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import type { Clock } from '#core';
import { type Position, beginning, hashOf, lineOf } from './chain.ts';
import {
  type Tail,
  headFileOf,
  headText,
  listFiles,
  pathOf,
  readHead,
  readTail,
} from './folder.ts';

export type FileLimits = {
  /** A file that would grow beyond it is followed by another, in bytes. */
  readonly maxBytes: number;
  /** A file whose first line is older is followed by another. */
  readonly maxAgeMs: number;
  /** Number of files. Older ones are removed. */
  readonly keep: number;
};

export type AuditFilesNeeds = {
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: () => FileLimits;
  /** Makes the names of new files survive a power failure. Never rejects. */
  readonly syncFolder: (path: string) => Promise<void>;
  /** Makes the body of a line about the log itself. */
  readonly bodyOf: (action: string, details: Readonly<Record<string, number>>) => string;
};

type Current = { readonly handle: FileHandle; size: number; readonly beganAt: number };

/**
 * The files of the audit log. Not for concurrent use: wait for each operation. After an operation rejected, the next one
 * opens the last file again and cuts off what a failed write left.
 */
export function createAuditFiles(folder: string, needs: AuditFilesNeeds) {
  const { clock, limits, bodyOf } = needs;
  let end: Position = beginning;
  let current: Current | undefined;
  let head: FileHandle | undefined;
  /** Bodies that explain what was found or removed, for the next lines. */
  let notes: string[] = [];
  let tooMany: readonly string[] = [];
  let isDirty = false;

  /** Finds the end of the log, and cuts off a torn line. */
  async function openEnd(): Promise<Current> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    head ??= await open(headFileOf(folder), 'a+', 0o600).then(async created => {
      // A file opened for appending cannot be written at a position.
      await created.close();
      return await open(headFileOf(folder), 'r+');
    });
    const { last, file } = await openLast();
    const stored = await readHead(folder);
    end = last ?? beginning;
    if (stored && stored.seq > end.seq)
      notes.push(bodyOf('lines_missing', { from_seq: end.seq + 1, through_seq: stored.seq }));
    // The numbers of missing lines are not used again, and a changed last line does not match the next one.
    if (stored && stored.seq >= end.seq) end = stored;
    current = file ?? (await openFile());
    return current;
  }

  /** Opens the last file, and finds the last line. A crash may leave files without one. */
  async function openLast(): Promise<{
    readonly last?: Position | undefined;
    readonly file?: Current;
  }> {
    let file: Current | undefined;
    for (const { path, firstSeq } of (await listFiles(folder)).toReversed()) {
      const handle = await open(path, 'a+', 0o600);
      try {
        const tail = await readTail(handle, firstSeq);
        if (tail.tornBytes > 0) await cutTornLine(handle, tail);
        file ??= { handle, size: tail.size, beganAt: tail.beganAt ?? clock.now() };
        if (tail.last) return { file, last: tail.last };
      } catch (error) {
        await file?.handle.close();
        throw error;
      } finally {
        if (file?.handle !== handle) await handle.close();
      }
    }
    return file ? { file } : {};
  }

  async function cutTornLine(handle: FileHandle, { size, tornBytes }: Tail): Promise<void> {
    await handle.truncate(size);
    notes.push(bodyOf('torn_line_removed', { bytes: tornBytes }));
  }

  async function openFile(): Promise<Current> {
    const handle = await open(pathOf(folder, end.seq + 1), 'a', 0o600);
    await needs.syncFolder(folder);
    return { handle, size: 0, beganAt: clock.now() };
  }

  /** Closes the file and opens the next one. Files that are too many are removed once a line says so. */
  async function rotate(file: Current): Promise<Current> {
    await sync();
    current = undefined;
    await file.handle.close();
    const files = await listFiles(folder);
    tooMany = files.slice(0, Math.max(0, files.length + 1 - limits().keep)).map(({ path }) => path);
    const next = files[tooMany.length];
    if (tooMany.length > 0)
      notes.push(bodyOf('files_removed', { through_seq: (next?.firstSeq ?? end.seq + 1) - 1 }));
    current = await openFile();
    return current;
  }

  async function sync(): Promise<void> {
    if (!isDirty || !current) return;
    await current.handle.datasync();
    isDirty = false;
    await head?.write(headText(end), 0);
  }

  const isFull = ({ size, beganAt }: Current, bytes: number): boolean => {
    const { maxBytes, maxAgeMs } = limits();
    return size > 0 && (size + bytes > maxBytes || clock.now() - beganAt > maxAgeMs);
  };

  return {
    /** The last line. */
    get end(): Position {
      return end;
    },
    /** Writes a line for each body, and returns the lines. If it rejects, none of them is in the log. */
    async append(bodies: readonly string[]): Promise<readonly string[]> {
      let file = current ?? (await openEnd());
      const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
      if (isFull(file, bytes)) file = await rotate(file);
      const lines: string[] = [];
      let last = end;
      for (const body of [...notes, ...bodies]) {
        const line = lineOf(body, last);
        lines.push(line);
        last = { seq: last.seq + 1, hash: hashOf(line) };
      }
      const text = Buffer.from(`${lines.join('\n')}\n`);
      try {
        await file.handle.writeFile(text);
      } catch (error) {
        current = undefined;
        await file.handle.truncate(file.size).catch(() => undefined); // `openEnd` cuts it off.
        await file.handle.close().catch(() => undefined); // The first error tells more.
        throw error;
      }
      file.size += text.length;
      end = last;
      notes = [];
      isDirty = true;
      for (const path of tooMany) await rm(path, { force: true });
      tooMany = [];
      return lines;
    },
    /** Resolves when all lines survive a power failure. */
    sync,
    async close(): Promise<void> {
      try {
        await sync();
      } finally {
        await current?.handle.close().catch(() => undefined); // Everything is synced, or the error says what is not.
        await head?.close().catch(() => undefined); // As above.
        current = undefined;
        head = undefined;
      }
    },
  };
}
