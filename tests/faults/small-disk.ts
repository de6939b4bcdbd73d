import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Disk = AsyncDisposable & {
  /** Writes a file until the disk has no room for another byte. */
  fill(): Promise<void>;
  /** Removes the file that fills the disk, if there is one. */
  free(): Promise<void>;
};

/** Mounts a tmpfs of half a megabyte, or the given size, over a folder. */
export async function mount(folder: string, size = '512k'): Promise<Disk> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  const filler = join(folder, 'filler');
  return {
    async fill() {
      const file = await open(filler, 'w');
      try {
        for (;;) await file.write(Buffer.alloc(4_096, 'x'));
      } catch (error) {
        assert.match(String(error), /ENOSPC/);
      } finally {
        await file.close();
      }
    },
    free: async () => await rm(filler, { force: true }),
    // `-l` unmounts even if a hub has files open on it.
    [Symbol.asyncDispose]: async () => void (await run('umount', ['-l', folder])),
  };
}

/** Returns why no disk can be mounted here; undefined if one can. */
export async function mountProblem(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-disk-'));
  try {
    const disk = await mount(folder);
    await disk[Symbol.asyncDispose]();
    return undefined;
  } catch {
    return 'this user may not mount a tmpfs';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
