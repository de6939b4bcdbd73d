import type { ServerConfig } from '#config';
import { type Log, HubError, silent, untilAborted } from '#core';
import type { Era } from '#mcp';
import type { Instance, LaunchEvents } from '#runtimes';
import { createUpstream } from '#upstream';
import type { Own, ServerNeeds } from '../server-types.ts';
import { eraToldBy, maySpeakOlder } from './eras.ts';
import {
  type HandshakeOptions,
  type Opening,
  asModern,
  discover,
  initialize,
} from './handshake.ts';

/** One attempt to start a server. */
export type StartAttempt = {
  readonly config: ServerConfig;
  readonly signal: AbortSignal;
  /** Distinguishes an instance from the one that it replaces: undefined for the first, the third, and so on. */
  readonly variant: string | undefined;
};

/** `again`: launches an instance to replace one that was only probed. */
export type LaunchKind = 'new' | 'again' | 'adopted';

type StartEvents = LaunchEvents & {
  /** Called with text on stdout that is not an MCP message. */
  stray?(text: string): void;
  /** Returns the error of a server that ended by itself, with what it wrote. */
  readonly gone: (how: string, cause: unknown) => HubError;
};

export type LaunchNeeds = {
  readonly attempt: StartAttempt;
  readonly hub: Pick<ServerNeeds, 'clock' | 'random' | 'hubVersion' | 'eras' | 'launch'>;
  readonly log: Log;
  readonly events: StartEvents;
  readonly own: Own | undefined;
  /** Called before an instance is launched. */
  readonly launching: (how: LaunchKind) => void;
};

/** Name of the instance that is launched only to probe the server's era. */
const probeInstance = 'probe';

/** Launches an instance, and determines the era of its handshake. */
export async function launchInEra(needs: LaunchNeeds) {
  const { config, signal } = needs.attempt;
  const { eras } = needs.hub;
  const instance = await launchOwn(needs);
  /** Identifies the program in the table of eras. */
  const key = eras.keyOf(config, instance.identity);
  /** The era that the config entry names; undefined if the hub determines it. */
  const entryEra = config.era === 'auto' ? undefined : config.era;
  /** True if the instance serves only clients of 2025-11-25 and older. */
  const servesOlder = needs.own?.era === 'legacy';
  const known = { instance, key, entryEra, servesOlder };
  /**
   * Returns the instance with the era of its handshake. `isOlder`: the handshake is that of 2025-11-25 because the
   * clients are of that era, whatever the server speaks.
   */
  const launched = (opening: Opening, isOlder = false) => ({ ...known, opening, isOlder });
  if (entryEra) return launched(entryEra);
  if (config.launch.kind === 'remote' && config.launch.transport === 'sse')
    return launched('legacy');
  if (servesOlder && (await maySpeakOlder(key, instance, eras, signal)))
    return launched('legacy', true);
  if (config.launch.kind === 'remote') return launched((await eras.recall(key)) ?? 'newest');
  return { ...known, isOlder: false, ...(await findEra(needs, instance, key)) };
}

function launchOwn({ attempt, hub, events, own, launching }: LaunchNeeds, how: LaunchKind = 'new') {
  const { config, signal, variant } = attempt;
  launching(how);
  return hub.launch(config, events, signal, own?.instance ?? variant);
}

/** Finds the era of a local program, by probing an instance that is not used afterwards. */
async function findEra(needs: LaunchNeeds, instance: Instance, key: string) {
  const { hub, attempt } = needs;
  const { config, signal } = attempt;
  /**
   * True if the first instance itself is probed: a first start may install the program, and a second would interfere.
   */
  const isAlone = instance.identity === undefined;
  let isSpent = false;
  const probe = async () => {
    isSpent ||= isAlone;
    const quiet = { ...needs.events, stderr() {} };
    const probed = isAlone ? instance : await hub.launch(config, quiet, signal, probeInstance);
    try {
      return await duringStart(probeEra(probed, needs, isAlone), needs);
    } finally {
      await probed.stop({ graceMs: 0 });
    }
  };
  /** Rejects if the instance to be used ends while the other one is probed. */
  const ended = isAlone
    ? []
    : [
        instance.exited.then(({ detail }) => {
          throw needs.events.gone(detail, undefined);
        }),
      ];
  try {
    const opening = await duringStart(Promise.race([hub.eras.find(key, probe), ...ended]), needs);
    return { opening, instance: isSpent ? await launchOwn(needs, 'again') : instance };
  } catch (error) {
    // No request was sent to this instance. Text that it wrote besides messages may explain the failure.
    if (!isSpent)
      instance.channel.listen({
        message() {},
        oversized() {},
        noise: text => needs.events.stray?.(text),
      });
    await instance.stop({ graceMs: 0 });
    throw error;
  }
}

export const handshakeOptionsOf = ({
  attempt: { config },
  hub,
  own,
}: LaunchNeeds): HandshakeOptions => ({
  server: config.name,
  hubVersion: hub.hubVersion,
  timeoutMs: config.startTimeoutMs,
  capabilities: config.hubCapabilities,
  client: own?.client,
});

/**
 * Time without an answer after which the probe tries the other era too, in ms: some servers ignore unknown requests.
 */
const silenceMs = 2_000;

/**
 * Finds out which era a server speaks. The probed instance is not used afterwards: servers settle for the era of the
 * first request, and some exit at an unknown one. Rejects with HUB_SERVER_START_FAILED if nothing is answered within
 * `timeoutMs`.
 */
async function probeEra(instance: Instance, needs: LaunchNeeds, isAlone: boolean): Promise<Era> {
  const { log } = needs;
  const { clock } = needs.hub;
  const options = handshakeOptionsOf(needs);
  const { server, hubVersion, timeoutMs } = options;
  const upstream = createUpstream({ server }, instance.channel, {
    clock,
    log,
    output: silent,
    notified() {},
    serverRequest() {},
    // Otherwise ignored: the instance that is not probed writes the same text.
    noise: isAlone ? text => needs.events.stray?.(text) : undefined,
  });
  void instance.channel.closed.then(({ reason }) =>
    upstream.fail(new HubError('HUB_SERVER_DOWN', `${server} is gone: ${reason}`)),
  );
  const eraOf = (error: unknown): Era => {
    if (!(error instanceof HubError) || error.code !== 'HUB_CALL_TIMEOUT')
      return eraToldBy(error) ?? 'legacy';
    throw lateStart(timeoutMs, error);
  };
  const modern = discover(options, asModern(upstream, hubVersion)).then((): Era => 'modern', eraOf);
  const legacy = Promise.withResolvers<Era>();
  legacy.promise.catch(() => undefined); // It may reject at the timeout, after the race is decided.
  using _silence = clock.after(silenceMs, () => {
    const leftMs = Math.max(1, timeoutMs - silenceMs);
    initialize({ ...options, timeoutMs: leftMs }, upstream)
      .then((): Era => 'legacy', eraOf)
      .then(legacy.resolve, legacy.reject);
  });
  try {
    return await Promise.race([modern, legacy.promise]);
  } finally {
    modern.catch(() => undefined); // It may reject later, after the race is decided.
  }
}

/**
 * Waits for work of a start. Rejects with HUB_SERVER_STOPPED once the start is cancelled, and with
 * HUB_SERVER_START_FAILED after `limitMs`.
 */
export async function duringStart<T>(
  work: Promise<T>,
  { attempt, hub }: LaunchNeeds,
  limitMs?: number,
): Promise<T> {
  using cancelling = untilAborted(attempt.signal);
  const stopped = cancelling.aborted.then(() => {
    throw new HubError('HUB_SERVER_STOPPED', 'it was stopped while it started');
  });
  const late = Promise.withResolvers<never>();
  using _timer =
    limitMs === undefined
      ? undefined
      : hub.clock.after(limitMs, () => late.reject(lateStart(limitMs)));
  return await Promise.race([work, late.promise, stopped]);
}

/** Creates the error of a server that took longer than its `start_timeout`. */
export const lateStart = (limitMs: number, cause?: unknown): HubError =>
  new HubError(
    'HUB_SERVER_START_FAILED',
    `it did not answer initialize and its lists in time, within ${limitMs / 1000} s. Raise "start_timeout" if it needs longer`,
    { cause },
  );
