import { isDeepStrictEqual } from 'node:util';
import type { Config, ServerConfig } from './config.ts';

/** Holds back changed entries that would run without a sandbox on this machine, until a person allows them. */
export interface ProcessGate {
  /**
   * Returns the config with each such entry replaced by its previous version, or disabled if it is new. `heldBack`
   * says why.
   */
  hold(config: Config): Config;
  /** Allows this entry as it is. */
  accept(server: ServerConfig): void;
  /** Names of the entries that are held back. */
  readonly waiting: readonly string[];
  /** Allows the held-back entry of this name. Returns false if there is none. */
  allow(name: string): boolean;
}

/** Maximum number of allowed entries that are remembered per server. The oldest are dropped. */
const maxAccepted = 20;

/**
 * Creates a gate. The config at start is allowed, because a person started the hub with it. Afterwards a program that
 * can write the file could otherwise run commands as this user through an unnoticed hot reload.
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

/**
 * Everything that decides which program runs. Includes the environment, because of variables such as NODE_OPTIONS.
 */
function whatRuns({ launch }: ServerConfig): object {
  return launch.kind === 'local' ? { ...launch, sandbox: undefined } : launch;
}

/** Does not show the arguments, which may contain secrets: everyone who may list servers sees this text. */
function whyHeld({ name, launch }: ServerConfig): string {
  const {
    command,
    package: named,
    args,
  } = launch.kind === 'local' ? launch : { command: undefined, package: undefined, args: [] };
  const program = JSON.stringify(command ?? named?.spec ?? '');
  return `a change of the config while the hub runs would make ${name} run ${program} with ${args.length} arguments on this machine, without a sandbox. Check its entry; if it is yours: agenthub reload --allow ${name}`;
}
