import type { ImportItem } from '#clients';
import { DeadlineExceeded, HubError, isObject, within } from '#core';
import { type HubClient, isAbsent, pathOfServer, withStartProgress } from '../hub-client.ts';
import { fieldsOf } from '../responses.ts';
import type { Io } from '../terminal.ts';

/** A server that is not running in the hub, with the reason. */
export type NotRunning = { readonly item: ImportItem; readonly why: string };

/** Time limit in ms for one server to be installed and to answer. */
const startMs = 20 * 60_000;

/**
 * Makes the hub reload its config and start the servers, and waits until each server answers. A server that does not
 * run stays in its client's file.
 */
export async function startImported(items: readonly ImportItem[], hub: HubClient, io: Io) {
  const running: ImportItem[] = [];
  const others: NotRunning[] = [];
  if (items.length === 0) return { running, others };
  const problem = await reload(hub);
  for (const item of items) {
    const why = problem ?? (await start(item, hub, io));
    if (why === undefined) running.push(item);
    else others.push({ item, why });
  }
  return { running, others };
}

async function reload(hub: HubClient): Promise<string | undefined> {
  try {
    await hub.ask({ method: 'POST', path: '/config/reload' });
    return undefined;
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return isAbsent(error)
      ? `no hub is running at ${hub.url}. Start it ("agenthub serve"), and repeat this command`
      : error.message;
  }
}

async function start(item: ImportItem, hub: HubClient, io: Io): Promise<string | undefined> {
  if (item.action === 'skip') return item.why;
  const path = `${pathOfServer(item.name)}/start`;
  try {
    io.progress(`waiting for ${item.name}`);
    const server = await within(startMs, io, async signal =>
      withStartProgress(hub.ask({ method: 'POST', path, signal }), hub, item.name, io),
    );
    const { state, why } = fieldsOf(server);
    if (state !== 'running')
      return `it is ${String(state)}${typeof why === 'string' ? `: ${why}` : ''}`;
    return isSame(item, server)
      ? undefined
      : `the hub at ${hub.url} runs another server of this name`;
  } catch (error) {
    if (error instanceof DeadlineExceeded)
      return `it does not run after ${startMs / 60_000} minutes`;
    if (!(error instanceof HubError)) throw error;
    return error.message;
  }
}

/** True if the hub's server has the imported config, as a hub may have another server of the same name. */
function isSame(item: ImportItem, server: unknown): boolean {
  const { source } = fieldsOf(server);
  if (!isObject(source) || item.action !== 'add') return item.action === 'present';
  const { launch } = item.server;
  if (launch.kind === 'remote') return typeof source['url'] === 'string';
  // Compare with the entry, in which a test start has pinned the version.
  const { package: named } = item.entry;
  const spec = typeof named === 'string' ? named.replace(/^uvx:/, '') : launch.package?.spec;
  return spec === undefined ? source['image'] === launch.image : source['package'] === spec;
}
