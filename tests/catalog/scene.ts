import { join } from 'node:path';
import { silent, systemClock } from '#core';
import { createLazyCatalog, maxAnswers } from '#catalog';
import { startHub } from '#helpers/hub';
import { createBacklog, createFolder, createTable } from '#store';
import { temporary } from '../config/editing.ts';
import { startRegistry } from '../doubles/mcp-registry.ts';
import { createInstallHub } from '../installs/hub.ts';
import { registered } from './servers.ts';

/** Starts a hub with a catalog over a registry. It installs servers as processes. */
export async function openCatalogHub({
  isOn = () => true,
}: { readonly isOn?: () => boolean } = {}) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporary());
  const registry = stack.use(await startRegistry(registered));
  const installing = stack.use(createInstallHub());
  const secrets = new Map<string, string>();
  const needs = { log: silent, backlog: createBacklog() };
  const catalog = createLazyCatalog({
    config: () => ({ enabled: isOn(), url: registry.url, maxAgeMs: 0 }),
    clock: systemClock,
    fetch,
    version: '1.2.3',
    index: createTable({ file: join(folder.path, 'catalog.json'), maxEntries: maxAnswers }, needs),
    bodies: createFolder(join(folder.path, 'catalog'), needs),
    secrets: {
      set: async (name, value) => void secrets.set(name, value),
      uses: () => undefined,
      isKept: async () => false,
    },
  });
  const hub = stack.use(await startHub([], { installs: installing.installs, catalog }));
  const kept = stack.move();
  return { hub, registry, installing, secrets, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
