import { createHash } from 'node:crypto';
import type { ServerConfig } from '#config';
import { type Log, HubError, createSingleFlight, isObject } from '#core';
import { rpcCodes } from '#jsonrpc';
import { type Era, modernVersions } from '#mcp';
import type { Instance } from '#runtimes';
import { type Table, createTable } from '#store';

/** Which era the programs of servers speak, found out once for each. */
export interface Eras {
  /** The era that was found out before. */
  recall(key: string): Promise<Era | undefined>;
  /**
   * The era of a program; `probe` finds it out where it is not known, one at a time for each key. It
   * rejects as the probe does.
   */
  find(key: string, probe: () => Promise<Era>): Promise<Era>;
  /** A server was greeted in this era: it is remembered, where `durably` beyond this run of the hub. */
  confirm(key: string, era: Era, durably: boolean): Promise<void>;
  /** It was the wrong one. */
  forget(key: string): Promise<void>;
}

/** Each probe has a time limit and a cancellation of its own. */
const unending = new AbortController().signal;

/** Programs whose era is remembered: more than a hub has servers, over many versions of each. */
export const maxEras = 1_000;

/** `kept` remembers beyond this run of the hub. */
export function createEras(needs: { readonly kept: Table; readonly log: Log }): Eras {
  const { kept, log } = needs;
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
    recall,
    async find(key, probe) {
      for (;;) {
        const known = await recall(key);
        if (known) return known;
        const isOwn = !probing.has(key);
        try {
          return await probing.join(key, () => ask(key, probe), unending);
        } catch (error) {
          // A silent program is silent for all callers, but a cancelled start of another caller says nothing about it.
          const isSilent = error instanceof HubError && error.code === 'HUB_SERVER_START_FAILED';
          if (isOwn || isSilent) throw error;
        }
      }
    },
    async confirm(key, era, durably) {
      await (durably ? kept : probed).put(key, era);
    },
    async forget(key) {
      await probed.remove(key);
      await kept.remove(key);
    },
  };
}

/**
 * What the era of a server is remembered by: the program, whatever its environment. `identity` is that
 * of its instance.
 */
export function eraKeyOf(
  { launch }: Pick<ServerConfig, 'launch'>,
  identity: string | undefined,
): string {
  const program =
    launch.kind === 'remote'
      ? [launch.url]
      : identity === undefined
        ? [
            launch.package?.spec,
            ...(launch.package?.with ?? []),
            launch.command,
            launch.args,
            launch.workingDirectory,
          ]
        : [identity, launch.command, launch.args];
  return createHash('sha256').update(JSON.stringify(program)).digest('hex').slice(0, 32);
}

/** What the refusal of `server/discover`, or of `initialize`, tells; undefined where nothing was said. */
export function eraToldBy(error: unknown): Era | undefined {
  if (!(error instanceof HubError)) return undefined;
  const { error: refusal, status } = error.data;
  // Older servers answer with a status alone what they do not know.
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
 * What is remembered by this key is 'modern' where the program was found not to speak 2025-11-25 or older, in this run
 * of the hub.
 */
export const olderKeyOf = (key: string): string => `${key}.older`;

/** Whether a program is worth being asked as of 2025-11-25, though it may speak 2026-07-28 as well. */
export async function maySpeakOlder(
  key: string,
  instance: Pick<Instance, 'mayKeepSessions'>,
  eras: Pick<Eras, 'recall' | 'confirm'>,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await eras.recall(key)) === 'legacy') return true;
  if ((await eras.recall(olderKeyOf(key))) === 'modern') return false;
  if (!instance.mayKeepSessions || (await instance.mayKeepSessions(signal))) return true;
  // Who gives up has not found out anything.
  if (signal.aborted) return true;
  await eras.confirm(olderKeyOf(key), 'modern', false);
  return false;
}

/**
 * A program did not come up as of 2025-11-25: unless it is known to speak nothing else, it is taken for one of
 * 2026-07-28 only, in this run of the hub. False where it is known.
 */
export async function takeForNewer(
  key: string,
  eras: Pick<Eras, 'recall' | 'confirm'>,
): Promise<boolean> {
  if ((await eras.recall(key)) === 'legacy') return false;
  await eras.confirm(olderKeyOf(key), 'modern', false);
  return true;
}
