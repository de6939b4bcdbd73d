import { isDeepStrictEqual } from 'node:util';
import { type ClientName, clients } from './client/client.ts';
import { type FileChange, type WriteWhole, readExactly, writeWithBackup } from './client/file.ts';
import { type ClientSource, withValue } from './client/text.ts';
import { serversIn } from './connect-plan.ts';
import type { FoundServer } from './find-servers.ts';
import { type HubAddress, defaultEntryName, hubEntry, isSameHub } from './hub-entry.ts';
import type { ImportItem } from './import-plan.ts';
import type { ImportRecord } from './import-record.ts';

/** How the hub takes the place of removed servers. */
export type Replacement = {
  /** The hub as a client reaches it; undefined: the client gets no entry of the hub. */
  readonly hubOf: (client: ClientName) => Promise<HubAddress | undefined>;
  /** Called before a file is written, so that the hub knows the token in it. */
  readonly ready: () => Promise<void>;
};

/**
 * Removes imported servers from the clients' files, and adds the hub in their place if asked. Resolves to the backups of
 * those files. Undoing the import also restores these files. Reads the files again, because clients write theirs at any
 * time, and writes each file once.
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

/** Writes a file that is in the record. If it rejects, the file is unchanged and no longer in the record. */
async function writeRecorded(
  change: FileChange,
  record: ImportRecord,
  { ready, writeWhole }: Pick<Replacement, 'ready'> & { readonly writeWhole: WriteWhole },
): Promise<string | undefined> {
  try {
    await ready();
    return await writeWithBackup(change, writeWhole);
  } catch (error) {
    await record.forget(new Set([change.file])).catch(() => undefined); // The first error is the cause.
    throw error;
  }
}

async function withoutServer(
  { client, source, path, name, entry }: FoundServer,
  text: string | undefined,
): Promise<string | undefined> {
  const now = { ...source, text };
  const found = (await serversIn(now, client, path))[name];
  // An entry that the client has changed since is not the imported server.
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

/** Whether a file has the hub, or another entry of its name: then an import adds no entry. */
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
