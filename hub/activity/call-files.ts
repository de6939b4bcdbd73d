import { appendFile, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing } from '#core';

/** Bytes of the end of a file that are read to find its last lines. */
const tailBytes = 16 * 1024;

/** Creates the two files in a folder, which the first write creates. Not for concurrent use. */
export function createCallFiles(folder: string) {
  const current = join(folder, 'calls.jsonl');
  const old = join(folder, 'calls.old.jsonl');
  /** Undefined before the first write, and after one that failed: the file may end in a torn line then. */
  let written: { bytes: number } | undefined;

  async function begin(): Promise<{ bytes: number }> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const bytes = (await stat(current).catch(ignoreMissing))?.size ?? 0;
    // Ends a torn line.
    if (bytes > 0) await appendFile(current, '\n');
    return { bytes };
  }

  return {
    /** Adds lines. Rejects if they cannot be written. A file never exceeds `maxFileBytes` by more than one write. */
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
    /** The last lines, oldest first, of the newer file that has some. The first of them may be cut. */
    async lastLines(): Promise<readonly string[]> {
      return linesOf((await tailOf(current)) || (await tailOf(old)));
    },
    /** All lines, oldest first. */
    async lines(): Promise<readonly string[]> {
      const texts = [old, current].map(
        async file => (await readFile(file, 'utf8').catch(ignoreMissing)) ?? '',
      );
      return (await Promise.all(texts)).flatMap(linesOf);
    },
    /** Removes files that were last written before this time. */
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

/** The end of a file. Empty without one. */
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
