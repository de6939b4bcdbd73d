import { isDeepStrictEqual } from 'node:util';
import { type ClientName, clients } from './client/client.ts';
import { type FileChange, type WriteWhole, readExactly, writeWithBackup } from './client/file.ts';
import { type ClientSource, withValue } from './client/text.ts';
import { serversIn } from './connect-plan.ts';
import type { FoundServer } from './find-servers.ts';
import { type HubAddress, defaultEntryName, hubEntry, isSameHub } from './hub-entry.ts';
import type { ImportItem } from './import-plan.ts';
import type { ImportRecord } from './import-record.ts';

/** How the hub replaces servers that are removed from clients' files. */
export type Replacement = {
  /** Returns the hub's address for a client; undefined to add no entry of the hub. */
  readonly hubOf: (client: ClientName) => Promise<HubAddress | undefined>;
  /** Called before a file is written, to register the token in it with the hub. */
  readonly ready: () => Promise<void>;
};

/**
 * Removes imported servers from the clients' files, and adds the hub in their place if `hubOf` returns it. Resolves to
 * the backups of the files, which undoing the import also restores. Reads the files again, because clients write them
 * at any time, and writes each file once.
 */
export async function removeServers(
  items: readonly ImportItem[],
  record: ImportRecord,
  { hubOf, ready }: Replacement,
  writeWhole: WriteWhole,
): Promise<readonly string[]> {
  const gone = items.map(({ found }) => found);
  const backups: string[] = [];
  for (const file of new Set(gone.map(({ source }) => source.file))) {
    const inFile = gone.filter(({ source }) => source.file === file);
    const before = await readExactly(file);
    let text = before;
    for (const found of inFile) text = await withoutServer(found, text);
    const [first] = inFile;
    const hub = first?.scope === 'user' ? await hubOf(first.client) : undefined;
    if (first && hub) text = await withHub(first, text, hub);
    if (text === before) continue;
    const change = { file, before, after: text };
    await record.add([change]);
    const backup = await writeRecorded(change, record, { ready, writeWhole });
    if (backup === undefined) continue;
    await record.addBackup(file, backup);
    backups.push(backup);
  }
  return backups;
}

/** Writes a file that is in the undo record. If it rejects, the file is unchanged and no longer in the record. */
async function writeRecorded(
  change: FileChange,
  record: ImportRecord,
  { ready, writeWhole }: Pick<Replacement, 'ready'> & { readonly writeWhole: WriteWhole },
): Promise<string | undefined> {
  try {
    await ready();
    return await writeWithBackup(change, writeWhole);
  } catch (error) {
    await record.forget(new Set([change.file])).catch(() => undefined); // Only the first error is reported.
    throw error;
  }
}

async function withoutServer(
  { client, source, path, name, entry }: FoundServer,
  text: string | undefined,
): Promise<string | undefined> {
  const now = { ...source, text };
  const found = (await serversIn(now, client, path))[name];
  // If the client has changed the entry since, it is no longer the imported server.
  const isSame = isDeepStrictEqual(structuredClone(found), structuredClone(entry));
  return isSame ? await withValue(now, [...path, name], undefined) : text;
}

async function withHub(
  { client, source }: FoundServer,
  text: string | undefined,
  hub: HubAddress,
): Promise<string | undefined> {
  const now = { ...source, text };
  const path = [...clients[client].servers, defaultEntryName];
  return (await hasHub(now, client, hub))
    ? text
    : await withValue(now, path, hubEntry(client, hub));
}

/** True if a file has an entry that points to the hub or has its name. An import then adds no entry. */
export async function hasHub(
  source: ClientSource,
  client: ClientName,
  hub: Pick<HubAddress, 'url' | 'server'>,
): Promise<boolean> {
  const servers = await serversIn(source, client);
  return (
    servers[defaultEntryName] !== undefined ||
    Object.values(servers).some(entry => isSameHub(entry, hub))
  );
}
