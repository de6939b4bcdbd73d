import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TarFile, packFiles } from '#contexts';
import { HubError } from '#core';

const blockBytes = 512;
const lockName = 'lock';

/**
 * Packs the files of a folder as a tar archive (POSIX.1-1988, ustar), followed by the lock. Deterministic. Skips
 * subfolders and `*.md`. Rejects with HUB_INTERNAL if the folder, which is part of the hub, cannot be read.
 */
export async function readBuildContext(folder: string, lock?: string): Promise<Buffer> {
  const files = await readTemplateFiles(folder);
  const locked = lock === undefined ? [] : [{ path: lockName, content: Buffer.from(lock) }];
  return packFiles([...files, ...locked]);
}

/** The files that `readBuildContext` packs, ordered by name. */
export async function readTemplateFiles(folder: string): Promise<readonly TarFile[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries
      .filter(entry => entry.isFile() && !entry.name.endsWith('.md'))
      .map(entry => entry.name);
    return await Promise.all(
      names
        .toSorted()
        .map(async name => ({ path: name, content: await readFile(join(folder, name)) })),
    );
  } catch (cause) {
    throw new HubError('HUB_INTERNAL', `the build context ${folder} cannot be read`, { cause });
  }
}

/**
 * Returns a text that changes when a file of a build context is written, added or removed. Rejects with HUB_INTERNAL.
 */
export async function stateOfFolder(folder: string): Promise<string> {
  try {
    const names = await readdir(folder);
    const states = await Promise.all(
      names.toSorted().map(async name => {
        const { ino, size, mtimeNs } = await stat(join(folder, name), { bigint: true });
        return [name, ino, size, mtimeNs].join(' ');
      }),
    );
    return states.join('\n');
  } catch (cause) {
    throw new HubError('HUB_INTERNAL', `the build context ${folder} cannot be read`, { cause });
  }
}

/** Returns the lock in an archive of `readBuildContext`, if any. */
export function readLock(context: Buffer): string | undefined {
  let at = 0;
  while (at + blockBytes <= context.length) {
    const header = context.subarray(at, at + blockBytes);
    const size = Number.parseInt(header.toString('latin1', 124, 135), 8);
    if (!Number.isSafeInteger(size) || size < 0) return undefined;
    const begin = at + blockBytes;
    if (header.toString('latin1', 0, lockName.length + 1) === `${lockName}\0`)
      return context.toString('utf8', begin, begin + size);
    at = begin + Math.ceil(size / blockBytes) * blockBytes;
  }
  return undefined;
}
