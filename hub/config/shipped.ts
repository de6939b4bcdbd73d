import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ReadText, codeOf } from './files.ts';

/** Reads a file whole; replaced where another stands in for one that is absent. */
export type ReadBytes = (path: string) => Promise<Buffer>;

/** Reads files, and in place of some that are absent those that come with the hub. */
export type ShippedFiles = {
  readonly readBytes: ReadBytes;
  /** The same as UTF-8. */
  readonly readText: ReadText;
};

/** Reads what is there, and nothing in its place. */
export const noShippedFiles: ShippedFiles = {
  readBytes: async path => await readFile(path),
  readText: async path => await readFile(path, 'utf8'),
};

/**
 * `inPlaceOf` names by their usual paths the files that the hub ships. Once one of those is there it counts,
 * and when it is gone later, that is an error as with any other file.
 */
export function createShippedFiles(inPlaceOf: Readonly<Record<string, string>>): ShippedFiles {
  const shipped = new Map(
    Object.entries(inPlaceOf).map(([path, file]) => [resolve(path), file] as const),
  );
  const readBytes: ReadBytes = async path => {
    const absolute = resolve(path);
    try {
      const bytes = await readFile(absolute);
      shipped.delete(absolute);
      return bytes;
    } catch (error) {
      const file = shipped.get(absolute);
      if (file === undefined || codeOf(error) !== 'ENOENT') throw error;
      return await readFile(file);
    }
  };
  return { readBytes, readText: async path => (await readBytes(path)).toString('utf8') };
}
