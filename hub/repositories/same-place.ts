import { lstat, realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Driver } from './driver.ts';

const timeoutMs = 10_000;

/**
 * True if a driver serves the folder that is at the path now. The folder may have been created anew; or a user who may
 * write to a folder above may have replaced it by a link, which the engine follows. Inodes are the same in a container
 * on Linux only; elsewhere the engine runs in a virtual machine.
 */
export async function isSamePlace(
  root: string,
  driver: Driver,
  signal: AbortSignal,
): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const schema = z.object({ inode: z.string() });
  const { inode } = await driver.request(
    { method: 'place', params: {}, timeoutMs },
    schema,
    signal,
  );
  const real = await realpath(root).catch(() => undefined); // The folder was removed.
  if (real !== root) return false;
  const { ino } = await lstat(root, { bigint: true });
  return String(ino) === inode;
}
