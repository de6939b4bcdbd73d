import { open, rename } from 'node:fs/promises';

/** Writes beside the file, syncs, and renames over it: a reader sees the old text or the new. */
export async function writeWhole(file: string, text: string): Promise<void> {
  const beside = `${file}.new`;
  const handle = await open(beside, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
}
