import { HubError, messageOf } from '#core';
import { hubIdOf } from '#mcp';
import type { Instance } from '#runtimes';
import {
  type LimitedLog,
  type ServerNotification,
  type ServerRequest,
  type Upstream,
  createPace,
  createUpstream,
} from '#upstream';
import { adoptInstance, resumeSession } from '../adoption/adoption.ts';
import { byKind, emptyReading, readListing } from '../listing/listing.ts';
import { type RereadsNeeds, createRereads, isListChange } from '../listing/reread.ts';
import { createSubscription } from '../listing/subscription.ts';
import type { Interest, Running, ServerNeeds } from '../server-types.ts';
import { handshakeAs, isOfOtherEra, misconfigured, unheard } from './entry-era.ts';
import { olderKeyOf, takeForNewer } from './eras.ts';
import { type HandshakeOptions, type ServerInfo, handshake, speechOf } from './handshake.ts';
import {
  type LaunchNeeds,
  duringStart,
  handshakeOptionsOf,
  lateStart,
  launchInEra,
} from './launch-in-era.ts';

/** Time from closing a server's stdin until the server is killed, in ms. */
export const graceMs = 5_000;

/** A server that has started, with its open session and its lists. */
export type Started = Awaited<ReturnType<typeof openSession>> & {
  /** Distinguishes the instance from the one that it replaced. */
  readonly variant: string | undefined;
  /** True if the instance was adopted from an earlier run of the hub, which saved its handle. */
  readonly isAdopted: boolean;
};

export type StartNeeds = LaunchNeeds & {
  /** Without `launches.adoption`, no instance is adopted. */
  readonly hub: Pick<ServerNeeds, 'launches'>;
  /** Log for server output, limited because the server decides how much it writes. */
  readonly output: LimitedLog;
  /** What the server's clients have subscribed to, and the handlers of messages for them. */
  readonly client: {
    readonly interest: () => Interest;
    /** Maximum rate of messages that the server sends on its own, per second. */
    readonly maxNotifications: () => number;
    readonly notified: (notification: ServerNotification) => void;
    readonly serverRequest: (serverRequest: ServerRequest) => void;
  };
  readonly lists: Pick<RereadsNeeds, 'replace' | 'announce'> & {
    readonly isCurrent: (upstream: Upstream) => boolean;
  };
  /** Called when the channel to an instance is open, before the handshake. */
  readonly opened: (instance: Instance, upstream: Upstream) => void;
};

/** Adopts the instance of an earlier run, or launches the server. A failed start leaves no instance running. */
export const startServer = async (needs: StartNeeds): Promise<Started> =>
  (await adopt(needs)) ?? (await launchServer(needs));

/**
 * Launches the server without adopting an instance. If its era turns out to be wrong, the era is determined again,
 * once.
 */
export async function launchServer(needs: StartNeeds): Promise<Started> {
  const first = await startOnce(needs);
  if (!('wrongEra' in first)) return first;
  needs.log.info({}, `the era of the server is determined again: ${messageOf(first.wrongEra)}`);
  const second = await startOnce(needs);
  if ('wrongEra' in second) throw second.wrongEra;
  return second;
}

/**
 * Adopts an instance. Undefined if there is none, or it does not respond. `isAgain`: the connection to it was just
 * lost.
 */
async function adopt(needs: StartNeeds, isAgain = false): Promise<Started | undefined> {
  const { log, hub, attempt } = needs;
  const { config, signal } = attempt;
  const adoption = hub.launches?.adoption;
  // An instance of a session (`own`) is never adopted, as it ends with its session.
  if (!adoption || needs.own) return undefined;
  const adopted = await adoptInstance(config, needs.events, adoption, signal);
  if (!adopted) return undefined;
  const { instance, handle, firstId } = adopted;
  needs.launching('adopted');
  try {
    const perform: Perform = (upstream, options) => resumeSession(handle, options, upstream);
    const session = await openWithin(instance, needs, perform, firstId);
    log.info(instance.about, 'adopted the instance of an earlier run');
    return { ...session, variant: handle.variant, isAdopted: true };
  } catch (error) {
    const { lost } = await instance.exited;
    // The instance may still run. If the engine does not answer, this rejects and a later start adopts the instance.
    if (lost && !isAgain && !signal.aborted) return await adopt(needs, true);
    await adoption.handles.forget(config.name);
    signal.throwIfAborted();
    const failed = { ...instance.about, error: messageOf(error) };
    log.info(failed, 'the instance of the earlier run does not answer: it is replaced');
    return undefined;
  }
}

type Perform = (upstream: Upstream, options: HandshakeOptions) => Promise<ServerInfo>;

/** Opens a session within `start_timeout`, and stops the instance if that fails. */
async function openWithin(
  instance: Instance,
  needs: StartNeeds,
  perform: Perform,
  firstId?: number,
) {
  const { config, signal } = needs.attempt;
  const opening = openSession(instance, needs, perform, firstId);
  try {
    return await duringStart(opening, needs, config.startTimeoutMs);
  } catch (error) {
    opening.then(
      ({ subscription }) => subscription?.stop(),
      () => undefined, // The caller gets the error thrown below.
    );
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    // The timeout of a request names "timeout", which does not limit a start.
    const isLate = error instanceof HubError && error.code === 'HUB_CALL_TIMEOUT';
    throw isLate ? lateStart(config.startTimeoutMs, error) : error;
  }
}

async function startOnce(needs: StartNeeds): Promise<Started | { readonly wrongEra: unknown }> {
  const { config, signal, variant } = needs.attempt;
  const { eras } = needs.hub;
  const launched = await launchInEra(needs);
  const { instance, key, opening, entryEra, isOlder, servesOlder } = launched;
  let isHeard = false;
  const perform: Perform = async (upstream, options) => {
    const serverInfo =
      entryEra === undefined
        ? await handshake(opening, options, upstream)
        : await handshakeAs(entryEra, options, upstream, needs.hub);
    isHeard = true;
    return serverInfo;
  };
  let subscription: Started['subscription'];
  try {
    const session = await openWithin(instance, needs, perform);
    subscription = session.subscription;
    const { era } = session.running.serverInfo;
    if (entryEra === undefined && !isOlder)
      await eras.confirm(key, era, config.launch.kind === 'local');
    signal.throwIfAborted();
    return { ...session, variant, isAdopted: false };
  } catch (error) {
    subscription?.stop();
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

/** Performs the handshake and reads the lists, if clients see them; request ids are above `firstId`. Never stops the instance. */
async function openSession(
  instance: Instance,
  needs: StartNeeds,
  perform: Perform,
  firstId: number | undefined,
) {
  const { name: server, startTimeoutMs, callTimeoutMs, isUnlisted } = needs.attempt.config;
  const { hub, log, output, client, lists: listNeeds } = needs;
  const { clock, random, hubVersion } = hub;
  /** Handles notifications. Until the lists are read for the first time, list changes are ignored. */
  let heard = (notification: ServerNotification): void => {
    if (!isListChange(notification.method)) client.notified(notification);
  };
  const { channel } = instance;
  const options = { server, ...(firstId !== undefined && { firstId }) };
  const upstream = createUpstream(options, channel, {
    clock,
    log,
    output,
    notified: notification => heard(notification),
    serverRequest: client.serverRequest,
    noise: text => needs.events.stray?.(text),
    pace: createPace(channel, client.maxNotifications, { clock, output }),
  });
  needs.opened(instance, upstream);
  const serverInfo = await perform(upstream, handshakeOptionsOf(needs));
  const { era, capabilities } = serverInfo;
  const { asking, isStateless } = speechOf(era, upstream, hubVersion);
  const hubId = hub.launches?.hubId;
  const hubOfServer = hubIdOf(capabilities);
  if (hubId !== undefined && hubOfServer === hubId) throw ofItself(server);
  const reader = { server, asking, clock, log, isStateless, hubId, hubOfServer };
  const rereads = createRereads(
    capabilities,
    { ...reader, timeoutMs: callTimeoutMs },
    { ...listNeeds, isCurrent: () => listNeeds.isCurrent(upstream) },
  );
  const subscribing = { clock, log, random, missed: () => rereads.doubt() };
  /** Subscription to change notifications; undefined unless the server is of the stateless revision. */
  const subscription = isStateless
    ? createSubscription({ capabilities, interest: client.interest() }, asking, subscribing)
    : undefined;
  heard = notification => {
    const unmarked = subscription ? subscription.unwrap(notification) : notification;
    if (unmarked && !rereads.hear(unmarked)) client.notified({ ...unmarked, connection: upstream });
  };
  try {
    const lists = isUnlisted
      ? byKind(() => emptyReading)
      : await readListing(capabilities, { ...reader, timeoutMs: startTimeoutMs });
    const running: Running = { instance, upstream, serverInfo };
    return { running, lists, rereads, subscription };
  } catch (error) {
    subscription?.stop();
    throw error;
  }
}

const ofItself = (server: string) =>
  new HubError(
    'HUB_LAUNCH_INVALID',
    `${server} is this hub itself, or a hub on a copy of its data folder. Remove the entry`,
    { data: { server } },
  );
