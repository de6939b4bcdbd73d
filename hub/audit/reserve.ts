import { randomBytes } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { errorCodeOf, ignoreMissing } from '#core';

/** Size of the reserve in bytes. It exceeds the lines that can be waiting when the disk becomes full. */
export const reserveBytes = 1024 * 1024;
/** Size of one write of random bytes. Zeros would not do, as a file system may store them without using space. */
const partBytes = 64 * 1024;

/** Creates the reserve at a path, without its file. Not for concurrent use: wait for each operation. */
export function createReserve(path: string) {
  let isHeld = false;

  async function write(): Promise<void> {
    const file = await open(path, 'w', 0o600);
    try {
      for (let bytes = 0; bytes < reserveBytes; bytes += partBytes)
        await file.writeFile(randomBytes(partBytes));
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async function remove(): Promise<void> {
    isHeld = false;
    await rm(path, { force: true });
  }

  return {
    /** True while the file occupies the disk space. */
    get isHeld() {
      return isHeld;
    },
    /** Reserves the disk space, or releases it if not wanted. Rejects if the disk is too full. */
    async keep(isWanted: boolean): Promise<void> {
      if (isWanted === isHeld) return;
      if (!isWanted) return await remove();
      if ((await stat(path).catch(ignoreMissing))?.size !== reserveBytes)
        try {
          await write();
        } catch (error) {
          await remove();
          throw error;
        }
      isHeld = true;
    },
    /** Releases the space if the error says that the disk is full. Resolves with true if a write can be repeated. */
    async releaseAfter(error: unknown): Promise<boolean> {
      const code = errorCodeOf(error);
      if (!isHeld || (code !== 'ENOSPC' && code !== 'EDQUOT')) return false;
      await remove();
      return true;
    },
  };
}
