import type { ServerConfig } from '#config';
import { type Clock, type Log, HubError } from '#core';
import { modernVersion } from '#rpc';
import type { Instance, LaunchEvents } from '#runtimes';
import type { Asked, Told } from './caller.ts';
import { eraKeyOf, eraToldBy } from './eras.ts';
import { withoutName } from './failures.ts';
import { type Greeting, type Opening, asModern, introduce } from './handshake.ts';
import type { LimitedLog } from './limited-log.ts';
import { type ListKind, type Reading, readListing } from './listing.ts';
import { probeEra } from './probe.ts';
import { type Rereads, createRereads, isListChange } from './reread.ts';
import type { Interest, Own, Running, ServerNeeds } from './server.ts';
import { type Subscription, createSubscription } from './subscription.ts';
import { type Upstream, createUpstream } from './upstream.ts';
import { within } from './within.ts';

/** A server that has been launched and greeted, and whose lists have been read. */
export type Started = {
  readonly running: Running;
  readonly lists: Readonly<Record<ListKind, Reading>>;
  readonly rereads: Rereads;
  /** Only servers of the stateless revision are listened to. */
  readonly subscription: Subscription | undefined;
};

export type StartNeeds = Pick<ServerNeeds, 'hubVersion' | 'eras' | 'launch' | 'random'> & {
  readonly clock: Clock;
  readonly log: Log;
  readonly output: LimitedLog;
  readonly events: LaunchEvents;
  /** The session that one server has for itself, if it is one of those. */
  readonly own: Own | undefined;
  /** What clients want to hear of, now. */
  readonly interest: () => Interest;
  readonly notified: (notification: Told) => void;
  readonly asked: (asked: Asked) => void;
  readonly replace: (kind: ListKind, reading: Reading) => void;
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
 * Launches a server, greets it in its era and reads its lists. Throws when any of it fails, with nothing
 * left. An era that turns out to be the wrong one is found out anew, once.
 */
export async function startServer(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started> {
  const first = await startOnce(config, needs, signal);
  if (!('wrongEra' in first)) return first;
  needs.log.info({}, `the era of the server is found out anew: ${first.wrongEra.message}`);
  const second = await startOnce(config, needs, signal);
  if ('wrongEra' in second) throw second.wrongEra;
  return second;
}

async function startOnce(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Started | { readonly wrongEra: HubError }> {
  const { instance, key, opening } = await launch(config, needs, signal);
  const greeted = greet(config, opening, instance, needs);
  try {
    const deadline = AbortSignal.timeout(config.startTimeoutMs);
    const started = await within(greeted, signal, deadline);
    const { era } = started.running.introduction;
    if (config.era === 'auto') await needs.eras.confirm(key, era, config.launch.kind === 'local');
    signal.throwIfAborted();
    return started;
  } catch (error) {
    greeted.then(
      started => started.subscription?.stop(),
      () => undefined,
    );
    await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
    if (!isOfOtherEra(error)) throw error;
    if (config.era !== 'auto') throw misconfigured(config, error);
    await needs.eras.forget(key);
    return { wrongEra: error };
  }
}

/** Launches the instance, and finds out in which era to greet it. */
async function launch(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<{ readonly instance: Instance; readonly key: string; readonly opening: Opening }> {
  const launchOwn = () => {
    needs.launching();
    return needs.launch(config, needs.events, signal, needs.own?.instance);
  };
  const instance = await launchOwn();
  const key = eraKeyOf(config, instance.identity);
  if (config.era !== 'auto') return { instance, key, opening: config.era };
  if (config.launch.kind === 'remote') {
    if (config.launch.transport === 'sse') return { instance, key, opening: 'legacy' };
    return { instance, key, opening: (await needs.eras.recall(key)) ?? 'newest' };
  }
  /** A program without an identity may be installed by its first start, which a second would disturb. */
  const isAlone = instance.identity === undefined;
  let isSpent = false;
  const probe = async () => {
    isSpent ||= isAlone;
    const quiet = { ...needs.events, stderr() {} };
    const probed = isAlone ? instance : await needs.launch(config, quiet, signal, probeInstance);
    try {
      return await within(probeEra(greetingOf(config, needs), probed, needs), signal);
    } finally {
      await probed.stop({ graceMs: 0 });
    }
  };
  try {
    const opening = await within(needs.eras.find(key, probe), signal);
    return { instance: isSpent ? await launchOwn() : instance, key, opening };
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
  opening: Opening,
  instance: Instance,
  needs: StartNeeds,
): Promise<Started> {
  const { name, startTimeoutMs, callTimeoutMs } = config;
  const { clock, log } = needs;
  /** Lists that change before they have been read are of no concern. */
  let heard = (told: Told): void => {
    if (!isListChange(told.method)) needs.notified(told);
  };
  const upstream: Upstream = createUpstream({ server: name }, instance.channel, {
    log,
    output: needs.output,
    notified: told => heard(told),
    asked: needs.asked,
  });
  needs.opened(instance, upstream);
  const introduction = await introduce(opening, greetingOf(config, needs), upstream);
  const { era, capabilities } = introduction;
  const asking = era === 'modern' ? asModern(upstream, needs.hubVersion) : upstream;
  const rereads = createRereads({ server: name, timeoutMs: callTimeoutMs, capabilities }, asking, {
    clock,
    log,
    isCurrent: () => needs.isCurrent(upstream),
    replace: needs.replace,
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
    const lists = await readListing(name, asking, capabilities, startTimeoutMs, { clock, log });
    return { running: { instance, upstream, introduction }, lists, rereads, subscription };
  } catch (error) {
    subscription?.stop();
    throw error;
  }
}

/** True where a server refused the greeting of its era as one of the other would. */
function isOfOtherEra(error: unknown): error is HubError {
  if (!(error instanceof HubError) || error.code !== 'HUB_SERVER_PROTOCOL') return false;
  const { method } = error.data;
  return method === 'server/discover' || (method === 'initialize' && eraToldBy(error) === 'modern');
}

function misconfigured({ name, era }: ServerConfig, cause: HubError): HubError {
  const versions = era === 'modern' ? `MCP ${modernVersion}` : 'MCP up to 2025-11-25';
  return new HubError(
    'HUB_SERVER_PROTOCOL',
    `${name} does not speak ${versions}, which "era": "${era}" in its entry asks for: ${withoutName(name, cause.message)}. Set "era" to "auto"`,
    { cause, data: cause.data },
  );
}
