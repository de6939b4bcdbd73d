import { isDeepStrictEqual } from 'node:util';
import type { Config, ServerConfig } from './config.ts';

/** Holds back entries that would run on this machine without a sandbox, and that no person has allowed. */
export interface ProcessGate {
  /** The config with such entries as they were before, or disabled where they are new; each says why. */
  hold(config: Config): Config;
  /** Has this entry run as it stands. */
  accept(server: ServerConfig): void;
  /** The names of the entries that are held back. */
  readonly waiting: readonly string[];
  /** Allows the entry that is held back under this name. False where none is. */
  allow(name: string): boolean;
}

/** Entries of one server that may come back without another word, the newest. */
const maxAccepted = 20;

/**
 * What the config has when the hub starts is allowed: a person has started it. From then on whoever can write to the
 * file would else run programs as this user, by a hot reload that nobody sees.
 */
export function createProcessGate(first: Config): ProcessGate {
  const accepted = new Map<string, readonly object[]>();
  const held = new Map<string, ServerConfig>();
  let inForce = new Map(first.servers.map(server => [server.name, server]));

  const isAccepted = (server: ServerConfig) =>
    accepted.get(server.name)?.some(one => isDeepStrictEqual(one, whatRuns(server))) === true;
  function accept(server: ServerConfig): void {
    if (isAccepted(server)) return;
    const others = accepted.get(server.name) ?? [];
    accepted.set(server.name, [...others, whatRuns(server)].slice(-maxAccepted));
  }
  for (const server of first.servers) if (isRunAsProcess(server)) accept(server);

  return {
    accept,
    get waiting() {
      return [...held.keys()];
    },
    allow(name) {
      const server = held.get(name);
      if (server) accept(server);
      return server !== undefined;
    },
    hold(config) {
      held.clear();
      const before = inForce;
      inForce = new Map();
      const servers = config.servers.map(server => {
        const { name } = server;
        if (!isRunAsProcess(server) || isAccepted(server)) {
          inForce.set(name, server);
          return server;
        }
        held.set(name, server);
        const heldBack = whyHeld(server);
        const old = before.get(name);
        if (!old) return { ...server, enabled: false, heldBack };
        inForce.set(name, old);
        return { ...old, heldBack };
      });
      return { ...config, servers };
    },
  };
}

const isRunAsProcess = ({ enabled, launch }: ServerConfig) =>
  enabled && launch.kind === 'local' && launch.runtime === 'process';

/** Everything of an entry that decides which program runs: variables too, as NODE_OPTIONS does. */
function whatRuns({ launch }: ServerConfig): object {
  return launch.kind === 'local' ? { ...launch, sandbox: undefined } : launch;
}

/** Arguments may hold secrets, and this is shown to whoever may list servers. */
function whyHeld({ name, launch }: ServerConfig): string {
  const {
    command,
    package: named,
    args,
  } = launch.kind === 'local' ? launch : { command: undefined, package: undefined, args: [] };
  const program = JSON.stringify(command ?? named?.spec ?? '');
  return `a change of the config while the hub runs would have ${name} run ${program} with ${args.length} arguments on this machine, without a sandbox. Read its entry; if it is yours: agenthub reload --allow ${name}`;
}
