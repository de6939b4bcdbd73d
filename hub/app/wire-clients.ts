import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type NamedClients, clientTokensFile, openNamedClients } from '#access';
import type { Config, Settings } from '#config';
import { type Clock, type Event, HubError, type Log, silent } from '#core';
import type { Principal } from '#policy';
import type { Observer } from '#routing';
import { type DataDir, openDataDir } from '#store';

type Needs = {
  readonly settings: Pick<Settings, 'administration'>;
  readonly dataDir: Pick<DataDir, 'path'>;
  readonly source: { readonly current: Config; readonly changed: Event<unknown> };
  readonly clock: Clock;
  readonly log: Log;
};

/** Opens the clients by name. They follow the config. */
export async function wireClients({ settings, dataDir, source, clock, log }: Needs) {
  const clients = await openNamedClients(
    {
      file: join(dataDir.path, clientTokensFile),
      administration: settings.administration,
    },
    { config: () => source.current, clock, log },
  );
  source.changed(() => void clients.refresh());
  return clients;
}

/** How long a command waits for another one that has the data folder, in milliseconds. */
const lockWaitMs = 5_000;

/** Opens the clients of a hub that does not run. Its data folder is locked until they are disposed. */
export async function openStoredClients(
  config: Config,
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
) {
  await using opened = new AsyncDisposableStack();
  const newId = () => randomUUID().replaceAll('-', '').slice(0, 16);
  const dataDir = opened.use(await openDataDir(settings.dataDir, newId, lockWaitMs));
  const clients = await openNamedClients(
    { file: join(dataDir.path, clientTokensFile), administration: settings.administration },
    { config: () => config, clock, log: silent },
  );
  const held = opened.move();
  return Object.assign(clients, { [Symbol.asyncDispose]: () => held.disposeAsync() });
}

/** Outcomes of calls that the hub refused because of who called. */
const refusals: ReadonlySet<string> = new Set(['HUB_POLICY_DENIED', 'HUB_LIMIT_REACHED']);

/** Counts the calls of clients by name. */
export const countCalls =
  (clients: Pick<NamedClients, 'record'>): Observer =>
  ({ principal, outcome }) => {
    if (principal.kind === 'client') clients.record(principal, refusals.has(outcome));
  };

/**
 * The principal of the client on stdin that AGENTHUB_CLIENT names; undefined if it names none. Throws HUB_CONFIG_INVALID
 * for an unknown client.
 */
export function findStdioClient(
  name: string | undefined,
  clients: Pick<NamedClients, 'principalOf' | 'list'>,
): Principal | undefined {
  if (!name) return undefined;
  const principal = clients.principalOf(name);
  if (principal) return principal;
  const known = clients.list().map(one => one.name);
  throw new HubError(
    'HUB_CONFIG_INVALID',
    `AGENTHUB_CLIENT: no client is called ${JSON.stringify(name)}. Add it to "clients" in the config; clients are ${known.join(', ') || 'none'}`,
  );
}
