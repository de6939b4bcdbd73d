import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import type { Clock } from '#core';
import { type Position, beginning } from './chain.ts';
import {
  headFileOf,
  headText,
  listFiles,
  pathOf,
  readHead,
  readTail,
  reserveFileOf,
} from './folder.ts';
import type { SealedPage } from './pages.ts';
import { createReserve } from './reserve.ts';

export type FileLimits = {
  /** Maximum size of a log file in bytes. The log continues in a new file. */
  readonly maxBytes: number;
  /** Maximum age of the first line of a log file, in milliseconds. The log continues in a new file. */
  readonly maxAgeMs: number;
  /** Maximum number of log files. The oldest ones are removed. */
  readonly keep: number;
};

export type AuditFilesNeeds = {
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: () => FileLimits;
  /** Syncs a folder, so that the names of new files survive a power failure. Never rejects. */
  readonly syncFolder: (path: string) => Promise<void>;
};

/** End of the log as found in its folder. The caller adds lines about a torn line and missing lines. */
type LogEnd = {
  /** Position of the last line, at which the log continues. */
  readonly end: Position;
  readonly tornBytes: number;
  /** Numbers of lines that were once on disk and are missing now. They are not used again. */
  readonly missing: { readonly from: number; readonly through: number } | undefined;
};

type Current = { readonly handle: FileHandle; size: number; readonly beganAt: number };

/**
 * Creates the files of the audit log. Not for concurrent use: wait for each operation. After a rejected operation, the
 * next one reopens the last file and truncates the rest of the failed write.
 */
export function createAuditFiles(folder: string, needs: AuditFilesNeeds) {
  const { clock, limits } = needs;
  let end: Position = beginning;
  let current: Current | undefined;
  let head: FileHandle | undefined;
  let isDirty = false;
  const reserve = createReserve(reserveFileOf(folder));

  /** Opens the last file, and truncates a torn line. */
  async function openEnd(): Promise<LogEnd> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    head ??= await openHead();
    const { last = beginning, file, tornBytes } = await openLast();
    const stored = await readHead(folder);
    // With equal numbers, the stored hash is used: if the last line was changed, it does not match the next line.
    end = stored && stored.seq >= last.seq ? stored : last;
    current = file ?? (await openFile(end.seq + 1));
    const missing = end.seq > last.seq ? { from: last.seq + 1, through: end.seq } : undefined;
    return { end, tornBytes, missing };
  }

  async function openHead(): Promise<FileHandle> {
    // `write` at a position needs the mode `r+`, which does not create the file.
    await (await open(headFileOf(folder), 'a', 0o600)).close();
    return await open(headFileOf(folder), 'r+');
  }

  /** Opens the last file, and finds the last line of the log. A crash may leave files without complete lines. */
  async function openLast() {
    let file: Current | undefined;
    let tornBytes = 0;
    try {
      for (const { path, firstSeq } of (await listFiles(folder)).toReversed()) {
        const handle = await open(path, 'a+', 0o600);
        try {
          const tail = await readTail(handle, firstSeq);
          if (tail.tornBytes > 0) await handle.truncate(tail.size);
          tornBytes += tail.tornBytes;
          file ??= { handle, size: tail.size, beganAt: tail.beganAt ?? clock.now() };
          if (tail.last) return { file, last: tail.last, tornBytes };
        } finally {
          if (file?.handle !== handle) await handle.close();
        }
      }
    } catch (error) {
      await file?.handle.close();
      throw error;
    }
    return { file, last: undefined, tornBytes };
  }

  async function openFile(firstSeq: number): Promise<Current> {
    const handle = await open(pathOf(folder, firstSeq), 'a', 0o600);
    await needs.syncFolder(folder);
    return { handle, size: 0, beganAt: clock.now() };
  }

  /** Closes a file and opens the next one. */
  async function rotate(file: Current): Promise<Current> {
    await sync();
    current = undefined;
    await file.handle.close();
    current = await openFile(end.seq + 1);
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

  async function openAgain(): Promise<Current> {
    await openEnd();
    return current ?? (await openFile(end.seq + 1));
  }

  /** Writes a page. Resolves with true if it started a new file. If it rejects, no line of the page is in the log. */
  async function write(page: SealedPage): Promise<boolean> {
    const text = page.bytes.subarray(0, page.length);
    let file = current ?? (await openAgain());
    const isNew = isFull(file, text.length);
    if (isNew) file = await rotate(file);
    try {
      await file.handle.writeFile(text);
    } catch (error) {
      current = undefined;
      await file.handle.truncate(file.size).catch(() => undefined); // `openEnd` cuts it off.
      await file.handle.close().catch(() => undefined); // The first error tells more.
      throw error;
    }
    file.size += text.length;
    end = page.last;
    isDirty = true;
    return isNew;
  }

  return {
    /** Finds the end of the log. Must succeed before anything is appended. */
    open: openEnd,
    reserve,
    /**
     * Writes a page, and releases the reserve if the disk is full. Resolves with true if it started a new file. If it
     * rejects, no line of the page is in the log.
     */
    async append(page: SealedPage): Promise<boolean> {
      try {
        return await write(page);
      } catch (error) {
        if (await reserve.releaseAfter(error)) return await write(page);
        throw error;
      }
    },
    /** Returns the oldest files above the limit, and the number of their last line. Log a line before removing them. */
    async surplus(): Promise<{ readonly paths: readonly string[]; readonly through: number }> {
      const files = await listFiles(folder);
      const paths = files.slice(0, Math.max(0, files.length - limits().keep)).map(one => one.path);
      return { paths, through: (files[paths.length]?.firstSeq ?? 1) - 1 };
    },
    async remove(paths: readonly string[]): Promise<void> {
      for (const path of paths) await rm(path, { force: true });
    },
    /** Resolves when all written lines are synced to disk. */
    sync,
    async close(): Promise<void> {
      try {
        await sync();
      } finally {
        await current?.handle.close().catch(() => undefined); // All lines are synced, or `sync` has thrown.
        await head?.close().catch(() => undefined); // As above.
        current = undefined;
        head = undefined;
      }
    },
  };
}
