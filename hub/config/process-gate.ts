import { isDeepStrictEqual } from 'node:util';
import type { ClientConfig } from './clients.ts';
import type { Config } from './config.ts';
import type { ServerConfig } from './normalize.ts';

/** Maximum number of allowed entries that are remembered per server. The oldest are dropped. */
const maxAccepted = 20;

/**
 * Creates a gate for changes of the config. It holds back changed entries that would run without a sandbox on this
 * machine, and clients that would administer the hub, until a person allows them. The config at start is allowed,
 * because a person started the hub with it. Without the gate, a program that can write the file could run commands as
 * this user through an unnoticed hot reload.
 */
export function createProcessGate(first: Config) {
  const accepted = new Map<string, readonly object[]>();
  const held = new Map<string, ServerConfig>();
  const administrators = createAdministrators(first);
  let inForce = new Map(first.servers.map(server => [server.name, server]));

  const isAccepted = (server: ServerConfig) =>
    accepted.get(server.name)?.some(one => isDeepStrictEqual(one, whatRuns(server))) === true;

  /** Allows the entry in its current form. */
  function accept(server: ServerConfig): void {
    if (isAccepted(server)) return;
    const others = accepted.get(server.name) ?? [];
    accepted.set(server.name, [...others, whatRuns(server)].slice(-maxAccepted));
  }
  for (const server of first.servers) if (isRunAsProcess(server)) accept(server);

  return {
    accept,
    get waiting() {
      return [...held.keys(), ...administrators.waiting];
    },
    /**
     * Allows the held-back entry of a server, or the held-back client for `client:NAME`. Returns false if there is
     * none.
     */
    allow(name: string): boolean {
      if (administrators.allow(name)) return true;
      const server = held.get(name);
      if (server) accept(server);
      return server !== undefined;
    },
    /**
     * Replaces each entry that is not allowed by its previous version, or disables a new one. Clients that are not
     * allowed lose the right to administer.
     */
    hold(config: Config): Config {
      held.clear();
      const before = inForce;
      inForce = new Map();
      const servers = config.servers.map(server => {
        const { name } = server;
        const isAllowed = !isRunAsProcess(server) || isAccepted(server);
        const old = isAllowed ? server : before.get(name);
        if (old) inForce.set(name, old);
        if (isAllowed) return server;
        held.set(name, server);
        return { ...(old ?? { ...server, enabled: false }), heldBack: whyHeld(server) };
      });
      return { ...config, servers, ...administrators.hold(config) };
    },
  };
}

/**
 * Tracks the clients that may administer, each with its token: those of the config at start, and those that a person
 * allowed.
 */
function createAdministrators(first: Config) {
  const keyOf = ({ name, tokenDigest = '' }: ClientConfig) => `${name} ${tokenDigest}`;
  const accepted = new Set((first.clients ?? []).filter(({ administer }) => administer).map(keyOf));
  /** Held-back clients by the name that allows them, `client:NAME`. Names of servers contain no colon. */
  const held = new Map<string, string>();

  function holdOne(client: ClientConfig): ClientConfig {
    if (!client.administer || accepted.has(keyOf(client))) return client;
    const name = `client:${client.name}`;
    held.set(name, keyOf(client));
    const heldBack = `a change of the config while the hub runs would let the client ${client.name} administer the hub. Check its entry in "clients"; if it is yours: agenthub reload --allow ${name}`;
    return { ...client, administer: false, heldBack };
  }

  return {
    get waiting() {
      return [...held.keys()];
    },
    allow(name: string): boolean {
      const key = held.get(name);
      if (key !== undefined) accepted.add(key);
      return key !== undefined;
    },
    hold({ clients }: Config): Pick<Config, 'clients'> {
      held.clear();
      return clients ? { clients: clients.map(holdOne) } : {};
    },
  };
}

const isRunAsProcess = ({ enabled, launch }: ServerConfig) =>
  enabled && launch.kind === 'local' && launch.runtime === 'process';

/**
 * Returns the part of a server's config that decides which program runs. Includes the environment, as variables such as
 * NODE_OPTIONS load code.
 */
function whatRuns({ launch, entryDigest }: ServerConfig): object {
  // The digest ignores values of secrets: only the owner sets them, and the entry that refers to them was allowed.
  if (entryDigest !== undefined) return { entryDigest };
  return launch.kind === 'local' ? { ...launch, sandbox: undefined } : launch;
}

/**
 * Returns the reason for holding back an entry. Omits the arguments, which may contain secrets: everyone who may list
 * servers sees this text.
 */
function whyHeld({ name, launch }: ServerConfig): string {
  if (launch.kind !== 'local') return '';
  const program = JSON.stringify(launch.command ?? launch.package?.spec ?? '');
  const count = launch.args.length;
  return `a change of the config while the hub runs would make ${name} run ${program} with ${count} ${count === 1 ? 'argument' : 'arguments'} on this machine, without a sandbox. Check its entry; if it is yours: agenthub reload --allow ${name}`;
}
