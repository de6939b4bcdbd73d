import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { Era } from '#mcp';
import type { Instance } from '#runtimes';
import { eraKeyOf, maySpeakOlder } from './eras.ts';
import type { HandshakeOptions, Opening } from './handshake.ts';
import { probeEra } from './probe.ts';
import { duringStart } from './start-deadline.ts';
import type { StartNeeds } from './start-types.ts';

type Launched = {
  readonly instance: Instance;
  /** Identifies the program in the table of eras. */
  readonly key: string;
  readonly opening: Opening;
  /** The era that the entry names; undefined if the hub finds it out. */
  readonly entryEra: Era | undefined;
  /** The instance serves clients of 2025-11-25 and older only. */
  readonly servesOlder: boolean;
  /** The handshake is that of 2025-11-25 because the clients are of that era, whatever the server speaks. */
  readonly isOlder: boolean;
};

/** Tells the instance that is probed for its era from those in use. */
const probeInstance = 'probe';

/** Launches an instance, and determines the era of its handshake. */
export async function launchInEra(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
): Promise<Launched> {
  const { eras } = needs.hub;
  const instance = await launchOwn(config, needs, signal);
  const key = eraKeyOf(config, instance.identity);
  const entryEra = config.era === 'auto' ? undefined : config.era;
  const servesOlder = needs.own?.era === 'legacy';
  const known = { key, entryEra, servesOlder };
  const launched = (opening: Opening, isOlder = false) => ({
    ...known,
    instance,
    opening,
    isOlder,
  });
  if (entryEra) return launched(entryEra);
  if (config.launch.kind === 'remote' && config.launch.transport === 'sse')
    return launched('legacy');
  if (servesOlder && (await maySpeakOlder(key, instance, eras, signal)))
    return launched('legacy', true);
  if (config.launch.kind === 'remote') return launched((await eras.recall(key)) ?? 'newest');
  return { ...known, isOlder: false, ...(await findEra(config, needs, signal, instance, key)) };
}

function launchOwn(config: ServerConfig, needs: StartNeeds, signal: AbortSignal) {
  needs.launching();
  return needs.hub.launch(config, needs.events, signal, needs.own?.instance ?? needs.variant);
}

/** Finds the era of a local program, by probing an instance that is not used afterwards. */
async function findEra(
  config: ServerConfig,
  needs: StartNeeds,
  signal: AbortSignal,
  instance: Instance,
  key: string,
): Promise<Pick<Launched, 'instance' | 'opening'>> {
  const { hub, log } = needs;
  /** The first start of a program without an identity may install it; a second at the same time would interfere. */
  const isAlone = instance.identity === undefined;
  let isSpent = false;
  const probe = async () => {
    isSpent ||= isAlone;
    const quiet = { ...needs.events, stderr() {} };
    const probed = isAlone ? instance : await hub.launch(config, quiet, signal, probeInstance);
    try {
      const probing = probeEra(handshakeOptionsOf(config, needs), probed, {
        clock: hub.clock,
        log,
      });
      return await duringStart(probing, signal);
    } finally {
      await probed.stop({ graceMs: 0 });
    }
  };
  /** The instance to be used may end while the other one is probed. */
  const ended = isAlone
    ? []
    : [
        instance.exited.then(({ detail }) => {
          throw new HubError('HUB_SERVER_START_FAILED', detail);
        }),
      ];
  try {
    const opening = await duringStart(Promise.race([hub.eras.find(key, probe), ...ended]), signal);
    return { opening, instance: isSpent ? await launchOwn(config, needs, signal) : instance };
  } catch (error) {
    await instance.stop({ graceMs: 0 });
    throw error;
  }
}

export const handshakeOptionsOf = (
  { name, startTimeoutMs }: ServerConfig,
  { hub, own }: Pick<StartNeeds, 'hub' | 'own'>,
): HandshakeOptions => ({
  server: name,
  hubVersion: hub.hubVersion,
  timeoutMs: startTimeoutMs,
  client: own?.client,
});
