import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf } from '#core';

type Shipped = {
  /** The config file that comes with the hub, absolute. It refers to the schema as `./hub.schema.json`. */
  readonly configFile: string;
  readonly schemaFile: string;
};

const schemaName = 'hub.schema.json';

/**
 * Writes the shipped config to a file that does not exist, with the schema that it refers to beside it. Resolves with
 * false if the file exists, which is never changed. Rejects with the error of the system. Only this user may read the file,
 * which may come to contain keys. `isPrivate`: the folder is the hub's, in which only this user may read, and the schema of
 * an earlier version is replaced.
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
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return; // Absent: it is written.
  await rm(file, { force: true });
  await writeNew(file, text, 0o644);
}

async function writeNew(file: string, text: string, mode: number): Promise<boolean> {
  try {
    await using handle = await open(file, 'wx', mode);
    try {
      await handle.writeFile(text);
    } catch (error) {
      // A partly written file would count as the user's own.
      await rm(file, { force: true });
      throw error;
    }
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
