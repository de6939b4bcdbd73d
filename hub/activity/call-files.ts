import { appendFile, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing } from '#core';

/** Number of bytes at the end of a file that are read to find its last lines. */
const tailBytes = 16 * 1024;

/** Creates the two files of calls in a folder, which the first write creates. Not for concurrent use. */
export function createCallFiles(folder: string) {
  const current = join(folder, 'calls.jsonl');
  const old = join(folder, 'calls.old.jsonl');
  /** Undefined before the first write and after a failed one, when the file may end with an incomplete line. */
  let written: { bytes: number } | undefined;

  async function begin(): Promise<{ bytes: number }> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const bytes = (await stat(current).catch(ignoreMissing))?.size ?? 0;
    // Terminates an incomplete line.
    if (bytes > 0) await appendFile(current, '\n');
    return { bytes };
  }

  return {
    /** Appends lines. Rejects if they cannot be written. A file exceeds `maxFileBytes` only if one write is larger. */
    async append(lines: Buffer, maxFileBytes: number): Promise<void> {
      const file = written ?? (await begin());
      written = undefined;
      if (file.bytes > 0 && file.bytes + lines.length > maxFileBytes) {
        await rename(current, old);
        file.bytes = 0;
      }
      await appendFile(current, lines, { mode: 0o600 });
      file.bytes += lines.length;
      written = file;
    },
    /** Reads the last lines of the newest file that has any, the oldest first. The first line may be incomplete. */
    async lastLines(): Promise<readonly string[]> {
      return linesOf((await tailOf(current)) || (await tailOf(old)));
    },
    /** Reads all lines, the oldest first. */
    async lines(): Promise<readonly string[]> {
      const texts = [old, current].map(
        async file => (await readFile(file, 'utf8').catch(ignoreMissing)) ?? '',
      );
      return (await Promise.all(texts)).flatMap(linesOf);
    },
    /** Removes files whose last write was before this time, in ms since the epoch. */
    async removeBefore(time: number): Promise<void> {
      for (const file of [old, current]) {
        const stats = await stat(file).catch(ignoreMissing);
        if (stats && stats.mtimeMs < time) await rm(file);
      }
    },
    async remove(): Promise<void> {
      written = undefined;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter(line => line !== '');

/** Reads the end of a file; empty if the file does not exist. */
async function tailOf(path: string): Promise<string> {
  const file = await open(path).catch(ignoreMissing);
  if (!file) return '';
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
