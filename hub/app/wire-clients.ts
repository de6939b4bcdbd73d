import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type NamedClients, clientTokensFile, openNamedClients, readTokenNames } from '#access';
import type { Config, Settings } from '#config';
import { type Clock, type Event, HubError, silent } from '#core';
import type { Principal } from '#policy';
import type { Observer } from '#routing';
import { type DataDir, openDataDir } from '#store';
import { createStoredAudit } from './stored-audit.ts';
import type { System } from './system.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly settings: Pick<Settings, 'administration'>;
  readonly dataDir: Pick<DataDir, 'path'>;
  readonly source: { readonly current: Config; readonly changed: Event<unknown> };
};

/** Opens the clients by name, and updates them after config changes. */
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

/** Creates the id of a hub, for a data folder that has none. */
export const newHubId = () => randomUUID().replaceAll('-', '').slice(0, 16);

/** Maximum time in ms that a command waits while another command locks the data folder. */
const lockWaitMs = 5_000;

/**
 * Returns the names of the clients for which the hub made a token. Never rejects. Commands load it from this module,
 * because the build of `#access` also loads the HTTP server.
 */
export const readStoredNames = ({ dataDir }: Pick<Settings, 'dataDir'>) => readTokenNames(dataDir);

type StoredClientsNeeds = {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Options of the audit log: the version of the hub, and the function that reports a line that cannot be written. */
  readonly audit: Pick<Parameters<typeof createStoredAudit>[1], 'hubVersion' | 'warn'>;
};

/** Opens the clients of a hub that does not run. The data folder is locked until the result is disposed. */
export async function openStoredClients(
  config: Config,
  { settings, clock, audit }: StoredClientsNeeds,
) {
  await using opened = new AsyncDisposableStack();
  const dataDir = opened.use(await openDataDir(settings.dataDir, newHubId, lockWaitMs));
  const clients = await openNamedClients(
    { file: join(dataDir.path, clientTokensFile), administration: settings.administration },
    { config: () => config, clock, log: silent },
  );
  const held = opened.move();
  const stored = createStoredAudit(dataDir.path, { config, clock, ...audit });
  return {
    ...clients,
    async create(name: string, given?: string) {
      const created = await clients.create(name, given);
      await stored.record({ action: 'token_created', target: created.name });
      return created;
    },
    async revoke(name: string, given?: string) {
      await clients.revoke(name, given);
      await stored.record({ action: 'token_revoked', target: name });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Adds a change to the audit log of a hub that does not run. Rejects with HUB_DATA_LOCKED if a hub runs. */
export async function recordStored(
  change: Parameters<ReturnType<typeof createStoredAudit>['record']>[0],
  {
    config,
    settings,
    clock,
    audit,
  }: StoredClientsNeeds & { readonly config: Pick<Config, 'audit'> },
): Promise<void> {
  await using dataDir = await openDataDir(settings.dataDir, newHubId, lockWaitMs);
  await createStoredAudit(dataDir.path, { config, clock, ...audit }).record(change);
}

/** Outcomes that count as refusals: the caller may not make the call, or has made too many. */
const refusals: ReadonlySet<string> = new Set([
  'HUB_POLICY_DENIED',
  'HUB_APPROVAL_NEEDED',
  'HUB_APPROVAL_DENIED',
  'HUB_LIMIT_REACHED',
]);

export const countCalls =
  (clients: Pick<NamedClients, 'record'>): Observer =>
  ({ principal, outcome, at, tookMs }) => {
    if (principal.kind === 'client')
      clients.record(principal, refusals.has(outcome), Math.round(at + tookMs));
  };

/**
 * Returns the principal of the client on stdin that AGENTHUB_CLIENT names; undefined without that variable. Throws
 * HUB_CONFIG_INVALID for an unknown client.
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
