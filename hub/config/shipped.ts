import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ReadText, codeOf } from './files.ts';

/** Reads a file. Replaced where a shipped file stands in for a missing one. */
export type ReadBytes = (path: string) => Promise<Buffer>;

/** File readers that fall back to the files shipped with the hub. */
export type ShippedFiles = {
  readonly readBytes: ReadBytes;
  /** The same as UTF-8. */
  readonly readText: ReadText;
};

/**
 * Creates readers with a fallback. `inPlaceOf` maps the usual path of each shipped file to the shipped one. Once a
 * file exists at the usual path, the fallback no longer applies: if it disappears later, reading it is an error.
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
