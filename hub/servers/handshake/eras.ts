import { createHmac } from 'node:crypto';
import type { ServerConfig } from '#config';
import { type Log, HubError, createSingleFlight, isObject, neverAborted } from '#core';
import { rpcCodes } from '#jsonrpc';
import { type Era, isStateless, modernVersions } from '#mcp';
import type { Instance } from '#runtimes';
import { type Table, createTable } from '#store';

/** Eras of programs (MCP up to 2025-11-25, or 2026-07-28), each determined once. */
export type Eras = ReturnType<typeof createEras>;

/** Maximum number of programs whose era is saved. */
export const maxEras = 1_000;

type ErasNeeds = {
  /** Table of eras that outlives the hub. */
  readonly kept: Table;
  /** Key of the HMAC over programs: command lines are short and can be guessed, and their arguments may be secret. */
  readonly secret: Buffer;
  readonly log: Log;
};

export function createEras({ kept, secret, log }: ErasNeeds) {
  /** Eras from probes that no handshake has confirmed. */
  const probed = createTable({ file: undefined, maxEntries: maxEras }, { log });
  const probing = createSingleFlight<Era>();

  async function recall(key: string): Promise<Era | undefined> {
    const found = (await kept.find(key)) ?? (await probed.find(key));
    return found === 'modern' || found === 'legacy' ? found : undefined;
  }

  async function ask(key: string, probe: () => Promise<Era>): Promise<Era> {
    const era = await probe();
    await probed.put(key, era);
    return era;
  }

  return {
    keyOf: (config: Pick<ServerConfig, 'launch'>, identity: string | undefined): string =>
      eraKeyOf(config, identity, secret),
    /**
     * Removes the entries of older versions of the hub, which stored digests without a key. Their programs are probed
     * again.
     */
    async removeUnkeyed(): Promise<void> {
      for (const [key] of await kept.entries()) if (!key.startsWith(keyed)) await kept.remove(key);
    },
    recall,
    /**
     * Returns the era of a program; if unknown, `probe` determines it, one at a time per key. Rejects as the probe
     * does.
     */
    async find(key: string, probe: () => Promise<Era>): Promise<Era> {
      for (;;) {
        const known = await recall(key);
        if (known) return known;
        const isOwn = !probing.has(key);
        try {
          // The caller's probe has its own time limit and cancellation.
          return await probing.join(key, () => ask(key, probe), neverAborted);
        } catch (error) {
          // A program that is silent to one caller is silent to all, but a cancelled probe of another caller proves
          // nothing.
          const isSilent = error instanceof HubError && error.code === 'HUB_SERVER_START_FAILED';
          if (isOwn || isSilent) throw error;
        }
      }
    },
    /** Saves the era of a successful handshake: on disk if `durably`, otherwise for this run of the hub. */
    async confirm(key: string, era: Era, durably: boolean): Promise<void> {
      await (durably ? kept : probed).put(key, era);
    },
    async forget(key: string): Promise<void> {
      await probed.remove(key);
      await kept.remove(key);
    },
  };
}

/** Prefix of digests that are keyed with the secret. */
const keyed = 'hmac-';

/**
 * Returns the key under which a server's era is saved: a digest of its program, without its environment. `identity` is
 * the identity of the program's instance, such as an image id.
 */
function eraKeyOf(
  { launch }: Pick<ServerConfig, 'launch'>,
  identity: string | undefined,
  secret: Buffer,
): string {
  const program =
    launch.kind === 'remote'
      ? [launch.url]
      : identity === undefined
        ? [
            launch.own ?? launch.package?.spec,
            ...(launch.package?.with ?? []),
            launch.command,
            launch.args,
            launch.workingDirectory,
          ]
        : [identity, launch.command, launch.args];
  const digest = createHmac('sha256', secret)
    .update(`era\n${JSON.stringify(program)}`)
    .digest('hex');
  return `${keyed}${digest.slice(0, 32)}`;
}

/** Returns the era implied by a server's refusal of `server/discover` or `initialize`, if any. */
export function eraToldBy(error: unknown): Era | undefined {
  if (!(error instanceof HubError)) return undefined;
  const { error: refusal, status } = error.data;
  // Older servers answer unknown requests with an HTTP status alone.
  if (error.code === 'HUB_REMOTE_UNREACHABLE' && status !== undefined) return 'legacy';
  if (error.code !== 'HUB_SERVER_PROTOCOL') return undefined;
  const { code, data } = isObject(refusal) ? refusal : {};
  if (code === rpcCodes.headerMismatch || code === rpcCodes.missingCapability) return 'modern';
  if (code !== rpcCodes.unsupportedVersion) return 'legacy';
  const supported = isObject(data) ? data['supported'] : undefined;
  const isForeign =
    Array.isArray(supported) && !modernVersions.some(version => supported.includes(version));
  return isForeign ? 'legacy' : 'modern';
}

/**
 * Key of the entry that is `modern` if the program does not speak 2025-11-25 or older. Lasts for one run of the hub.
 */
export const olderKeyOf = (key: string): string => `${key}.older`;

/** True if a program may speak 2025-11-25, possibly besides 2026-07-28. */
export async function maySpeakOlder(
  key: string,
  instance: Pick<Instance, 'mayKeepSessions'>,
  eras: Pick<Eras, 'recall' | 'confirm'>,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await eras.recall(key)) === 'legacy') return true;
  if ((await eras.recall(olderKeyOf(key))) === 'modern') return false;
  if (!instance.mayKeepSessions || (await instance.mayKeepSessions(signal))) return true;
  // The result of a cancelled check means nothing.
  if (signal.aborted) return true;
  await eras.confirm(olderKeyOf(key), 'modern', false);
  return false;
}

/** True if a running remote server may speak both eras: it answered in the newer one, and its entry names none. */
export const maySpeakBoth = ({
  config: { era, launch },
  running,
}: {
  readonly config: Pick<ServerConfig, 'era' | 'launch'>;
  readonly running: { readonly serverInfo: { readonly era: Era } } | undefined;
}): boolean =>
  era === 'auto' &&
  launch.kind === 'remote' &&
  launch.transport === 'http' &&
  isStateless(running?.serverInfo);

/**
 * Records, for this run of the hub, that a program speaks 2026-07-28 only. Returns false if it is known to speak older
 * revisions.
 */
export async function takeForNewer(
  key: string,
  eras: Pick<Eras, 'recall' | 'confirm'>,
): Promise<boolean> {
  if ((await eras.recall(key)) === 'legacy') return false;
  await eras.confirm(olderKeyOf(key), 'modern', false);
  return true;
}
