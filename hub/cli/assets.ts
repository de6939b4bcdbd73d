import { readFile } from 'node:fs/promises';

/** Reads a file in `assets/`, which a build copies beside the code. */
export const readAsset = async (name: string): Promise<string> =>
  await readFile(new URL(`./assets/${name}`, import.meta.url), 'utf8');
