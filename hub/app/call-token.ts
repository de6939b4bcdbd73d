import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { CallToken } from '#http';
import type { Exposure } from '#runtimes/docker';
import { type Placement, runtimeOf } from '#servers';
import { type DataDir, callTokenFile, readOrMakeKey } from '#store';

export type CallTokenNeeds = {
  readonly dataDir: Pick<DataDir, 'path'>;
  readonly exposure: Exposure;
  readonly place: Placement;
  /** The active config. A new config has a new array of servers. */
  readonly source: { readonly current: { readonly servers: readonly ServerConfig[] } };
  readonly log: Log;
};

/**
 * Manages the token that calls require if ROUTER_TOKEN is not set and containers can reach the hub. Some engines
 * forward connections of containers to the loopback interface of the hub's machine, where calls are open: a server or
 * build step with a network could call the hub like its user. In that case the hub requires a token, which it creates
 * and `connect` writes to the files of clients. `endOpen` closes connections and sessions that were opened without the
 * token.
 */
export function createCallToken(
  { dataDir, exposure, place, source, log }: CallTokenNeeds,
  endOpen: (reason: string) => void,
) {
  let token: string | undefined;
  let making: Promise<void> | undefined;
  let current: CallToken | undefined;
  /** Servers of the config that was checked last. */
  let seen: readonly ServerConfig[] | undefined;
  let networked: string | undefined;

  /** Returns the name of the first enabled server that runs or is built with a network. */
  function findNetworked(): string | undefined {
    const { servers } = source.current;
    if (servers !== seen) {
      seen = servers;
      networked = servers.find(config => isNetworked(config, place))?.name;
    }
    return networked ?? exposure.networked;
  }

  async function make(): Promise<void> {
    try {
      token = await readOrMakeKey(join(dataDir.path, callTokenFile));
      if (current) current = { ...current, token };
    } catch (error) {
      making = undefined;
      log.error(
        { error: messageOf(error) },
        'the token for calls cannot be kept: no client can call. Set ROUTER_TOKEN, or repair the file',
      );
    }
  }

  function refresh(): void {
    const server = exposure.forwarder === undefined ? undefined : findNetworked();
    if (server === undefined) {
      if (current) log.info({}, 'calls no longer need a token');
      current = undefined;
      return;
    }
    const why = `${exposure.forwarder} lets containers connect to this machine, and ${server} has a network or is built with one`;
    const isNew = current === undefined;
    // Until the file is read, calls are refused: no client knows this token.
    current = { token: token ?? randomBytes(32).toString('base64url'), why };
    making ??= make();
    if (!isNew) return;
    const remedy = '"agenthub connect" writes it into the files of clients';
    log.warn({ server }, `calls need a token: ${why}. ${remedy}`);
    endOpen('calls need a token from now on');
  }

  /** Returns the token; undefined while calls need none. Called for every request. */
  function currentToken(): CallToken | undefined {
    if (exposure.forwarder !== undefined && source.current.servers !== seen) refresh();
    return current;
  }

  exposure.changed(refresh);
  return {
    current: currentToken,
    /** Call this after a config change. Resolves when the token is ready, if one is needed. */
    async refresh(): Promise<void> {
      refresh();
      await making;
    },
  };
}

/** True if the server, or the build of its package, runs in a container with a network. */
function isNetworked({ enabled, launch }: ServerConfig, { auto }: Placement): boolean {
  if (!enabled || launch.kind === 'remote' || runtimeOf(launch, auto) !== 'docker') return false;
  const isBuilt = [launch.package, launch.build, launch.systemPackages].some(
    one => one !== undefined,
  );
  return launch.sandbox.network === 'bridge' || isBuilt;
}
