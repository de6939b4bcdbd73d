import { readCatalog } from '#config';
import type { ServerCatalog, CatalogNeeds } from './catalog.ts';

export type { ServerCatalog, CatalogNeeds } from './catalog.ts';

/** Creates a catalog whose code is loaded on first use, as most hubs run for weeks without it. */
export function createLazyCatalog(needs: CatalogNeeds): ServerCatalog {
  let loaded: Promise<ServerCatalog> | undefined;

  async function load(): Promise<ServerCatalog> {
    const { createCatalog } = await import('./catalog.ts');
    return createCatalog(needs);
  }

  const use = () => (loaded ??= load());
  return {
    isOn: () => (needs.config() ?? readCatalog(undefined)).enabled,
    search: async (...wanted) => await (await use()).search(...wanted),
    get: async (...wanted) => await (await use()).get(...wanted),
    requestFor: async (...wanted) => await (await use()).requestFor(...wanted),
  };
}
