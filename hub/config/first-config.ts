import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf } from '#core';

type Shipped = {
  /** Absolute path of the config file shipped with the hub, which refers to the schema as `./hub.schema.json`. */
  readonly configFile: string;
  readonly schemaFile: string;
};

const schemaName = 'hub.schema.json';

/**
 * Writes the shipped config to a file, and its schema beside it. Resolves with false if the file exists, which is never
 * changed. Rejects with errors of the file system. The file is readable only by its owner, as it may later contain
 * keys. `isPrivate`: the folder is the hub's own. It is then created with access only for this user, and its schema is
 * replaced by the current version.
 */
export async function writeFirstConfig(
  file: string,
  { configFile, schemaFile }: Shipped,
  isPrivate: boolean,
): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true, ...(isPrivate && { mode: 0o700 }) });
  const text = await readFile(configFile, 'utf8');
  const isNew = await writeNew(file, text, 0o600);
  if (isNew || isPrivate) await refreshSchema(join(dirname(file), schemaName), schemaFile);
  return isNew;
}

async function refreshSchema(file: string, shipped: string): Promise<void> {
  const text = await readFile(shipped, 'utf8');
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return; // A missing file is written.
  await rm(file, { force: true });
  await writeNew(file, text, 0o644);
}

/** Writes a file. Resolves with false if the file exists, which is never changed. */
export async function writeNew(file: string, text: string, mode: number): Promise<boolean> {
  try {
    await using handle = await open(file, 'wx', mode);
    try {
      await handle.writeFile(text);
    } catch (error) {
      // Without this, the next start would take a partly written file for the user's config.
      await rm(file, { force: true });
      throw error;
    }
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
