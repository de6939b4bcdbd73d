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
  /** The servers of the config in force: another list is another config. */
  readonly configs: () => readonly ServerConfig[];
  readonly log: Log;
  /** Ends the connections and sessions that were opened without the token. */
  readonly endOpen: (reason: string) => void;
};

/** The token that a hub without ROUTER_TOKEN asks for where containers can reach it. */
export interface CallTokenSource {
  /** Undefined while calls need no token. Cheap: it is asked with every request. */
  current(): CallToken | undefined;
  /** Looks again whether one is needed, after the config changed; resolves when it can be presented. */
  look(): Promise<void>;
}

/**
 * Some engines forward connections of containers to the loopback interface of the hub's machine, where calls are
 * otherwise open: a server or a package's build step with a network would reach the hub as if it were its user. There
 * the hub asks for a token, which it makes and `connect` writes into the files of clients.
 */
export function createCallToken(needs: CallTokenNeeds): CallTokenSource {
  const { exposure, log } = needs;
  let token: string | undefined;
  let making: Promise<void> | undefined;
  let current: CallToken | undefined;
  let seen: readonly ServerConfig[] | undefined;
  let networked: string | undefined;

  /** The first enabled server that has a network, or is built with one. */
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
    // Until the file is read nobody knows the token, so that nobody gets in.
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
    current() {
      if (exposure.forwarder !== undefined && needs.configs() !== seen) look();
      return current;
    },
    async look() {
      look();
      await making;
    },
  };
}

/** Whether anything of a server runs in a container with a network: the server, or the build of its package. */
function isNetworked({ enabled, launch }: ServerConfig, auto: Placement['auto']): boolean {
  if (!enabled || launch.kind === 'remote' || runtimeOf(launch, auto) !== 'docker') return false;
  return launch.sandbox.network === 'bridge' || launch.package !== undefined;
}
