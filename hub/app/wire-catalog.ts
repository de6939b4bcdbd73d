import { join } from 'node:path';
import { type CatalogNeeds, createLazyCatalog, maxAnswers } from '#catalog';
import type { Config } from '#config';
import type { Log } from '#core';
import type { Secrets } from '#secrets';
import { type Backlog, type DataDir, createFolder, createTable } from '#store';

type Needs = Pick<CatalogNeeds, 'clock' | 'version'> & {
  readonly source: { readonly current: Pick<Config, 'catalog' | 'secretUses'> };
  readonly log: Log;
  readonly dataDir: Pick<DataDir, 'path'>;
  readonly backlog: Backlog;
  readonly openSecrets: () => Promise<Pick<Secrets, 'set' | 'read'>>;
};

/** Creates the catalog of MCP servers. It caches answers in the data folder, and uses the secrets of the hub. */
export function wireCatalog({ dataDir, openSecrets, source, ...needs }: Needs) {
  const folder = join(dataDir.path, 'catalog');
  return createLazyCatalog({
    ...needs,
    fetch,
    config: () => source.current.catalog,
    index: createTable({ file: join(dataDir.path, 'catalog.json'), maxEntries: maxAnswers }, needs),
    bodies: createFolder(folder, needs),
    secrets: {
      set: async (name, value) => await (await openSecrets()).set(name, value),
      uses: () => source.current.secretUses,
      isKept: async name => (await (await openSecrets()).read([name])).has(name),
    },
  });
}
