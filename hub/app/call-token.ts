import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { CallToken } from '#http';
import type { Exposure } from '#runtimes/docker';
import { type Placement, runtimeOf } from '#servers';
import { callTokenFile, readOrMakeKey } from '#store';

export type CallTokenNeeds = {
  readonly dataFolder: string;
  readonly exposure: Exposure;
  readonly auto: Placement['auto'];
  /** The servers of the current config. A new config has a new array. */
  readonly configs: () => readonly ServerConfig[];
  readonly log: Log;
  /** Closes connections and sessions that were opened without the token. */
  readonly endOpen: (reason: string) => void;
};

/**
 * The token that calls require if ROUTER_TOKEN is not set and containers can reach the hub. Some engines forward connections of containers to the loopback interface of the hub's machine, where calls are open: a
 * server or build step with a network could call the hub like its user. In that case the hub requires a token, which it
 * creates and `connect` writes to the files of clients.
 */
export function createCallToken(needs: CallTokenNeeds) {
  const { exposure, log } = needs;
  let token: string | undefined;
  let making: Promise<void> | undefined;
  let current: CallToken | undefined;
  let seen: readonly ServerConfig[] | undefined;
  let networked: string | undefined;

  /** The first enabled server that runs or is built with a network. */
  function findNetworked(): string | undefined {
    const configs = needs.configs();
    if (configs !== seen) {
      seen = configs;
      networked = configs.find(config => isNetworked(config, needs.auto))?.name;
    }
    return networked ?? exposure.networked;
  }

  async function make(): Promise<void> {
    try {
      token = await readOrMakeKey(join(needs.dataFolder, callTokenFile));
      if (current) current = { ...current, token };
    } catch (error) {
      making = undefined;
      log.error(
        { error: messageOf(error) },
        'the token for calls cannot be kept: no client can call. Set ROUTER_TOKEN, or repair the file',
      );
    }
  }

  function look(): void {
    const server = exposure.forwarder === undefined ? undefined : findNetworked();
    if (server === undefined) {
      if (current) log.info({}, 'calls need no token any more');
      current = undefined;
      return;
    }
    const why = `${exposure.forwarder} lets containers connect to this machine, and ${server} has a network or is built with one`;
    const isNew = current === undefined;
    // Before the file is read, calls are refused: nobody knows the token yet.
    current = { token: token ?? randomBytes(32).toString('base64url'), why };
    making ??= make();
    if (!isNew) return;
    log.warn(
      { server },
      `calls need a token: ${why}. "agenthub connect" writes it into the files of clients`,
    );
    needs.endOpen('calls need a token from now on');
  }

  exposure.changed(look);
  return {
    /** Undefined while calls need no token. Read for every request. */
    current(): CallToken | undefined {
      if (exposure.forwarder !== undefined && needs.configs() !== seen) look();
      return current;
    },
    /** Call it after a config change. Resolves when the token is ready, if one is needed. */
    async look(): Promise<void> {
      look();
      await making;
    },
  };
}

/** True if the server, or the build of its package, runs in a container with a network. */
function isNetworked({ enabled, launch }: ServerConfig, auto: Placement['auto']): boolean {
  if (!enabled || launch.kind === 'remote' || runtimeOf(launch, auto) !== 'docker') return false;
  return launch.sandbox.network === 'bridge' || launch.package !== undefined;
}
