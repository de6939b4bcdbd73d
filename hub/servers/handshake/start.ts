import type { ServerConfig } from '#config';
import { type Clock, type Log, HubError, messageOf } from '#core';
import type { Instance, LaunchEvents } from '#runtimes';
import {
  type Asked,
  type LimitedLog,
  type Told,
  type Upstream,
  createPace,
  createUpstream,
} from '#upstream';
import { reintroduce, takeBack } from '../adoption/adoption.ts';
import { introduceAs, isOfOtherEra, misconfigured, unheard } from './entry-era.ts';
import { eraKeyOf, maySpeakOlder, olderKeyOf, takeForNewer } from './eras.ts';
import {
  type Greeting,
  type Introduction,
  type Opening,
  asModern,
  introduce,
} from './handshake.ts';
import { type ListKind, type Reading, readListing } from '../listing/listing.ts';
import { probeEra } from './probe.ts';
import { type Rereads, type RereadsNeeds, createRereads, isListChange } from '../listing/reread.ts';
import type { Interest, Own, Running, ServerNeeds } from '../server-types.ts';
import { duringStart } from './start-deadline.ts';
import { type Subscription, createSubscription } from '../listing/subscription.ts';

/** A server that has been launched and greeted, and whose lists have been read. */
export type Started = {
  readonly running: Running;
  readonly lists: Readonly<Record<ListKind, Reading>>;
  readonly rereads: Rereads;
  /** Only servers of the stateless revision are listened to. */
  readonly subscription: Subscription | undefined;
  /** As what it was launched. */
  readonly variant: string | undefined;
  /** It has gone on without the hub, and what it is found by is written down. */
  readonly isTakenBack: boolean;
};

type Greeted = Omit<Started, 'variant' | 'isTakenBack'>;

export type StartNeeds = Pick<
  ServerNeeds,
  'hubVersion' | 'eras' | 'launch' | 'random' | 'continuity'
> & {
  readonly clock: Clock;
  readonly log: Log;
  readonly output: LimitedLog;
  readonly events: LaunchEvents;
  /** The session that one server has for itself, if it is one of those. */
  readonly own: Own | undefined;
  /** Tells it from the instance whose place it takes; undefined for the first, and each second after. */
  readonly variant: string | undefined;
  /** What clients want to hear of, now. */
  readonly interest: () => Interest;
  /** Most messages a second that the server may send unasked. */
  readonly maxNotifications: () => number;
  readonly notified: (notification: Told) => void;
  readonly asked: (asked: Asked) => void;
  readonly replace: RereadsNeeds['replace'];
  readonly announce: RereadsNeeds['announce'];
  readonly isCurrent: (upstream: Upstream) => boolean;
  /** An instance is about to be launched: what an earlier one wrote is not about it. */
  readonly launching: () => void;
  /** There is a session with an instance. It ends with its channel. */
  readonly opened: (instance: Instance, upstream: Upstream) => void;
};

/** How long a server has from the end of its input to its end. */
export const graceMs = 5_000;
/** Tells the instance that an era is found out with from those that are used. */
const probeInstance = 'probe';

/**
 * Launches a server, greets it in its era and reads its lists; one that has gone on without the hub is gone
 * on with. Throws when any of it fails, with nothing left. An era that turns out to be the wrong one is found out anew, once.
 */
export async function startServer(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started> {
  return (await resume(config, needs, signal)) ?? (await launchServer(config, needs, signal));
}

/** As `startServer`, but beside whatever may run already. */
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

/** Goes on with what was left running. Undefined where there is nothing, or it does not answer. */
async function resume(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started | undefined> {
  const { continuity } = needs;
  // An instance that a session had for itself is over with its session.
  if (!continuity || needs.own) return undefined;
  const taken = await takeBack(config, needs.events, continuity, signal);
  if (!taken) return undefined;
  const { instance, handle, firstId } = taken;
  needs.launching();
  const introduction = (upstream: Upstream) =>
    reintroduce(handle, greetingOf(config, needs), upstream);
  const greeted = greet(config, introduction, instance, needs, firstId);
  try {
    const started = await duringStart(greeted, signal, {
      clock: needs.clock,
      limitMs: config.startTimeoutMs,
    });
    needs.log.info(instance.about, 'goes on with what was left running');
    return { ...started, variant: handle.variant, isTakenBack: true };
  } catch (error) {
    greeted.then(
      started => started.subscription?.stop(),
      () => undefined,
    );
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    await continuity.handles.forget(config.name);
    signal.throwIfAborted();
    needs.log.info(
      { ...instance.about, error: messageOf(error) },
      'what was left running does not answer: it is replaced',
    );
    return undefined;
  }
}

async function startOnce(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started | { readonly wrongEra: unknown }> {
  const { instance, key, opening, isOlder } = await launch(config, needs, signal);
  let isHeard = false;
  const introduction = async (upstream: Upstream) => {
    const greeting = greetingOf(config, needs);
    const introduced =
      config.era === 'auto'
        ? await introduce(opening, greeting, upstream)
        : await introduceAs(config.era, greeting, upstream, needs);
    isHeard = true;
    return introduced;
  };
  const greeted = greet(config, introduction, instance, needs);
  try {
    const started = await duringStart(greeted, signal, {
      clock: needs.clock,
      limitMs: config.startTimeoutMs,
    });
    const { era } = started.running.introduction;
    if (config.era === 'auto' && !isOlder)
      await needs.eras.confirm(key, era, config.launch.kind === 'local');
    signal.throwIfAborted();
    return { ...started, variant: needs.variant, isTakenBack: false };
  } catch (error) {
    greeted.then(
      started => started.subscription?.stop(),
      () => undefined,
    );
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    if (config.era !== 'auto') {
      if (isOfOtherEra(error)) throw misconfigured(config, error);
      throw isHeard || signal.aborted ? error : unheard(config, error);
    }
    const isNewer = isOlder && !isHeard && !signal.aborted && (await takeForNewer(key, needs.eras));
    if (isNewer) return { wrongEra: error };
    // It is asked again as of 2025-11-25 next time, unless it comes up in the newer era.
    if (needs.own?.era === 'legacy') await needs.eras.forget(olderKeyOf(key));
    if (!isOfOtherEra(error)) throw error;
    await needs.eras.forget(key);
    return { wrongEra: error };
  }
}

type Launched = {
  readonly instance: Instance;
  readonly key: string;
  readonly opening: Opening;
  /** It is greeted as of 2025-11-25 because its clients are, whether it speaks 2026-07-28 or not. */
  readonly isOlder: boolean;
};

/** Launches the instance, and finds out in which era to greet it. */
async function launch(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Launched> {
  const launchOwn = () => {
    needs.launching();
    return needs.launch(config, needs.events, signal, needs.own?.instance ?? needs.variant);
  };
  const instance = await launchOwn();
  const key = eraKeyOf(config, instance.identity);
  const greetedAs = (opening: Opening, isOlder = false) => ({ instance, key, opening, isOlder });
  if (config.era !== 'auto') return greetedAs(config.era);
  if (config.launch.kind === 'remote' && config.launch.transport === 'sse')
    return greetedAs('legacy');
  if (needs.own?.era === 'legacy' && (await maySpeakOlder(key, instance, needs.eras, signal)))
    return greetedAs('legacy', true);
  if (config.launch.kind === 'remote') return greetedAs((await needs.eras.recall(key)) ?? 'newest');
  /** A program without an identity may be installed by its first start, which a second would disturb. */
  const isAlone = instance.identity === undefined;
  let isSpent = false;
  const probe = async () => {
    isSpent ||= isAlone;
    const quiet = { ...needs.events, stderr() {} };
    const probed = isAlone ? instance : await needs.launch(config, quiet, signal, probeInstance);
    try {
      return await duringStart(probeEra(greetingOf(config, needs), probed, needs), signal);
    } finally {
      await probed.stop({ graceMs: 0 });
    }
  };
  /** The one that is to be used may end while another is asked. */
  const ended = isAlone
    ? []
    : [
        instance.exited.then(({ detail }) => {
          throw new HubError('HUB_SERVER_START_FAILED', detail);
        }),
      ];
  try {
    const found = Promise.race([needs.eras.find(key, probe), ...ended]);
    const opening = await duringStart(found, signal);
    return { ...greetedAs(opening), instance: isSpent ? await launchOwn() : instance };
  } catch (error) {
    await instance.stop({ graceMs: 0 });
    throw error;
  }
}

const greetingOf = ({ name, startTimeoutMs }: ServerConfig, needs: StartNeeds): Greeting => ({
  server: name,
  hubVersion: needs.hubVersion,
  timeoutMs: startTimeoutMs,
  client: needs.own?.client,
});

async function greet(
  config: ServerConfig,
  introductionFrom: (upstream: Upstream) => Promise<Introduction>,
  instance: Instance,
  needs: StartNeeds,
  firstId?: number,
): Promise<Greeted> {
  const { name, startTimeoutMs, callTimeoutMs } = config;
  const { clock, log } = needs;
  /** Lists that change before they have been read are of no concern. */
  let heard = (told: Told): void => {
    if (!isListChange(told.method)) needs.notified(told);
  };
  const upstream: Upstream = createUpstream(
    { server: name, ...(firstId !== undefined && { firstId }) },
    instance.channel,
    {
      clock,
      log,
      output: needs.output,
      notified: told => heard(told),
      asked: needs.asked,
      pace: createPace(instance.channel, needs.maxNotifications, needs),
    },
  );
  needs.opened(instance, upstream);
  const introduction = await introductionFrom(upstream);
  const { era, capabilities } = introduction;
  const asking = era === 'modern' ? asModern(upstream, needs.hubVersion) : upstream;
  const reading = { server: name, timeoutMs: callTimeoutMs, era, capabilities };
  const rereads = createRereads(reading, asking, {
    clock,
    log,
    isCurrent: () => needs.isCurrent(upstream),
    replace: needs.replace,
    announce: needs.announce,
  });
  const subscription =
    era === 'modern'
      ? createSubscription({ capabilities, interest: needs.interest() }, asking, {
          clock,
          log,
          random: needs.random,
          missed: () => rereads.doubt(),
        })
      : undefined;
  heard = told => {
    const unmarked = subscription ? subscription.unwrap(told) : told;
    if (unmarked && !rereads.hear(unmarked)) needs.notified(unmarked);
  };
  try {
    const lists = await readListing(name, asking, capabilities, startTimeoutMs, {
      clock,
      log,
      era,
    });
    return { running: { instance, upstream, introduction }, lists, rereads, subscription };
  } catch (error) {
    subscription?.stop();
    throw error;
  }
}
