import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HubError } from '#core';

const blockBytes = 512;
const lockName = 'lock';

/**
 * Packs the files of a folder as a tar archive (POSIX.1-1988, ustar), followed by the lock. Deterministic. Skips
 * subfolders and `*.md`. Rejects with HUB_INTERNAL if the folder, which is part of the hub, cannot be read.
 */
export async function readBuildContext(folder: string, lock?: string): Promise<Buffer> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries
      .filter(entry => entry.isFile() && !entry.name.endsWith('.md'))
      .map(entry => entry.name);
    const files = await Promise.all(
      names.toSorted().map(async name => entryOf(name, await readFile(join(folder, name)))),
    );
    if (lock !== undefined) files.push(entryOf(lockName, Buffer.from(lock)));
    return Buffer.concat([...files, Buffer.alloc(2 * blockBytes)]);
  } catch (cause) {
    throw new HubError('HUB_INTERNAL', `the build context ${folder} cannot be read`, { cause });
  }
}

/** Differs once a file of a build context was written, added or removed. Rejects with HUB_INTERNAL. */
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

/** The lock in an archive of `readBuildContext`, if any. */
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

function entryOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(0, 11), 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${octal(sum, 6)} `, 148);
  const padding = (blockBytes - (content.length % blockBytes)) % blockBytes;
  return Buffer.concat([header, content, Buffer.alloc(padding)]);
}
