import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ReadText, codeOf } from './files.ts';

/** Reads a file. Replaced where a shipped file stands in for a missing one. */
export type ReadBytes = (path: string) => Promise<Buffer>;

export type ShippedFiles = ReturnType<typeof createShippedFiles>;

/**
 * Creates file readers that fall back to the files shipped with the hub. `inPlaceOf` maps the usual path of each to the
 * shipped one. Once a file exists at the usual path, the fallback no longer applies: if it disappears later, reading it
 * is an error.
 */
export function createShippedFiles(inPlaceOf: Readonly<Record<string, string>>) {
  const shipped = new Map(Object.entries(inPlaceOf).map(([path, file]) => [resolve(path), file]));
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
  const readText: ReadText = async path => (await readBytes(path)).toString('utf8');
  return { readBytes, readText };
}
