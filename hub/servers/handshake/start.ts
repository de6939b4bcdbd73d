import type { ServerConfig } from '#config';
import { messageOf } from '#core';
import type { Instance } from '#runtimes';
import type { Upstream } from '#upstream';
import { adoptInstance, resumeSession } from '../adoption/adoption.ts';
import { handshakeAs, isOfOtherEra, misconfigured, unheard } from './entry-era.ts';
import { olderKeyOf, takeForNewer } from './eras.ts';
import { type HandshakeOptions, type ServerInfo, handshake } from './handshake.ts';
import { handshakeOptionsOf, launchInEra } from './launch-in-era.ts';
import { openSession } from './open-session.ts';
import { duringStart } from './start-deadline.ts';
import type { OpenSession, StartNeeds, Started } from './start-types.ts';

/** Time from the end of a server's input until it is killed. */
export const graceMs = 5_000;

/**
 * Adopts the instance of an earlier run, or launches the server; performs the handshake and reads the lists.
 * Rejects if any of it fails, and leaves nothing behind then.
 */
export async function startServer(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started> {
  return (await adopt(config, needs, signal)) ?? (await launchServer(config, needs, signal));
}

/** As `startServer`, without adoption. If the era turns out to be wrong, it is determined again, once. */
export async function launchServer(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started> {
  const first = await startOnce(config, needs, signal);
  if (!('wrongEra' in first)) return first;
  needs.log.info({}, `the era of the server is found out anew: ${messageOf(first.wrongEra)}`);
  const second = await startOnce(config, needs, signal);
  if ('wrongEra' in second) throw second.wrongEra;
  return second;
}

/** Undefined if there is no instance to adopt, or it does not respond. */
async function adopt(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started | undefined> {
  const { continuity } = needs.hub;
  // The instance of a session ends with its session.
  if (!continuity || needs.own) return undefined;
  const adopted = await adoptInstance(config, needs.events, continuity, signal);
  if (!adopted) return undefined;
  const { instance, handle, firstId } = adopted;
  needs.launching();
  try {
    const session = await openWithin(config, instance, needs, signal, {
      perform: (upstream, options) => resumeSession(handle, options, upstream),
      firstId,
    });
    needs.log.info(instance.about, 'adopted the instance of an earlier run');
    return { ...session, variant: handle.variant, isAdopted: true };
  } catch (error) {
    await continuity.handles.forget(config.name);
    signal.throwIfAborted();
    needs.log.info(
      { ...instance.about, error: messageOf(error) },
      'what was left running does not answer: it is replaced',
    );
    return undefined;
  }
}

type Handshake = {
  readonly perform: (upstream: Upstream, options: HandshakeOptions) => Promise<ServerInfo>;
  /** Requests are numbered above this id. */
  readonly firstId?: number;
};

/** Opens a session within `start_timeout`; stops the instance if that fails. */
async function openWithin(
  config: ServerConfig,
  instance: Instance,
  needs: StartNeeds,
  signal: AbortSignal,
  { perform, firstId }: Handshake,
): Promise<OpenSession> {
  const options = handshakeOptionsOf(config, needs);
  const opening = openSession(config, instance, needs, firstId, upstream =>
    perform(upstream, options),
  );
  try {
    return await duringStart(opening, signal, {
      clock: needs.hub.clock,
      limitMs: config.startTimeoutMs,
    });
  } catch (error) {
    opening.then(
      ({ subscription }) => subscription?.stop(),
      () => undefined, // The error is the one thrown here.
    );
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    throw error;
  }
}

async function startOnce(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started | { readonly wrongEra: unknown }> {
  const { eras } = needs.hub;
  const { instance, key, opening, entryEra, isOlder, servesOlder } = await launchInEra(
    config,
    needs,
    signal,
  );
  let isHeard = false;
  const perform: Handshake['perform'] = async (upstream, options) => {
    const serverInfo =
      entryEra === undefined
        ? await handshake(opening, options, upstream)
        : await handshakeAs(entryEra, options, upstream, needs.hub);
    isHeard = true;
    return serverInfo;
  };
  let session: OpenSession | undefined;
  try {
    session = await openWithin(config, instance, needs, signal, { perform });
    const { era } = session.running.serverInfo;
    if (entryEra === undefined && !isOlder)
      await eras.confirm(key, era, config.launch.kind === 'local');
    signal.throwIfAborted();
    return { ...session, variant: needs.variant, isAdopted: false };
  } catch (error) {
    session?.subscription?.stop();
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    if (entryEra !== undefined) {
      if (isOfOtherEra(error)) throw misconfigured(config, error);
      throw isHeard || signal.aborted ? error : unheard(config, error);
    }
    const isNewer = isOlder && !isHeard && !signal.aborted && (await takeForNewer(key, eras));
    if (isNewer) return { wrongEra: error };
    // The next start tries 2025-11-25 again, unless this server starts in the newer era.
    if (servesOlder) await eras.forget(olderKeyOf(key));
    if (!isOfOtherEra(error)) throw error;
    await eras.forget(key);
    return { wrongEra: error };
  }
}
