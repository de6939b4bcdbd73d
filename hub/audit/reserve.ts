import { randomBytes } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { errorCodeOf, ignoreMissing } from '#core';

/** More than the lines that can wait when the disk becomes full, in bytes. */
export const reserveBytes = 1024 * 1024;
/** Random, because a file system may store zeros without using room. */
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
    /** Whether the room is held. */
    get isHeld() {
      return isHeld;
    },
    /** Holds the room, or gives it back if it is not wanted. Rejects if the disk has too little room. */
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
    /** Gives the room back if the disk is full. Returns whether lines can be written into it. */
    async releaseAfter(error: unknown): Promise<boolean> {
      const code = errorCodeOf(error);
      if (!isHeld || (code !== 'ENOSPC' && code !== 'EDQUOT')) return false;
      await remove();
      return true;
    },
  };
}
