import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConfigEditor } from '#config';
import { writeWhole } from '#store';

/** Creates a temporary folder, which is removed when disposed. */
export async function temporary() {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-edit-')));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Creates an editor with the options that the hub uses. */
export const createEditor = (home: string, write: typeof writeWhole = writeWhole) =>
  createConfigEditor({ readOptions: async () => ({ env: {}, home }), writeWhole: write });
