import { isDeepStrictEqual } from 'node:util';
import { type Network, fixedNetwork } from '#config';
import { type Clock, HubError, type Log, messageOf, sleep } from '#core';
import type { EgressReport, LaunchSpec } from '#runtimes';
import { createNetwork } from '../container/create.ts';
import { hubLabel } from '../container/labels.ts';
import { networkNameOf } from '../container/options.ts';
import type { Engine } from '../engine/engine.ts';
import { EngineError } from '../engine/errors.ts';
import { type ForwarderOptions, forwarderName, provideForwarder } from './container.ts';
import { createEgressCounts } from './counts.ts';
import { createForwarder } from './forwarder.ts';
import type { HubPlaces, Member } from './protocol.ts';
import { findSubnet, randomSubnet } from './subnets.ts';
import { type Way, wayOf } from './way.ts';

type Needs = {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly log: Log;
  readonly hubPlaces: () => Promise<HubPlaces>;
};

/** First major version of the engine that can isolate networks from its own machine. */
const firstVersion = 28;
/** Maximum number of attempts to find a subnet that does not overlap another network of the engine. */
const maxAttempts = 50;
/** Maximum time in ms until the engine has removed a container. */
const removalMs = 5_000;
const removalRetryMs = 100;

export type Egress = ReturnType<typeof createEgress>;

/** Manages the networks of servers with outgoing connections, and the forwarder, which is in all of them. */
export function createEgress(options: ForwarderOptions, needs: Needs) {
  const { engine, log, clock } = needs;
  const { owner } = options;
  const members = new Map<string, Member>();
  const counts = createEgressCounts(needs);
  const own = forwarderName(owner);
  /** Number of servers with a network that are being adopted. */
  let adopting = 0;
  /** True once the forwarder may exist and must be removed at the end. */
  let isUsed = false;
  const forwarder = createForwarder({
    ...needs,
    name: own,
    members,
    provide: signal => provideForwarder(options, needs, signal),
    heard: traffic => counts.add(traffic),
  });

  async function join(name: string, member: Member): Promise<Way> {
    isUsed = true;
    members.set(name, member);
    try {
      await forwarder.join(name, member);
    } catch (error) {
      members.delete(name);
      throw error;
    }
    return wayOf(member);
  }

  /** Removes a network, and the forwarder from it. Retries while the engine is removing a container in it. */
  async function removeNetwork(idOrName: string): Promise<void> {
    const deadlineMs = clock.monotonic() + removalMs;
    for (;;) {
      try {
        return await engine.removeNetwork(idOrName);
      } catch (error) {
        const isInUse = error instanceof EngineError && /active endpoints/.test(error.words);
        if (!isInUse || clock.monotonic() >= deadlineMs) throw error;
      }
      try {
        await engine.disconnectNetwork(idOrName, own);
      } catch {
        // The forwarder is not in the network, or is being removed.
        await sleep(removalRetryMs, { clock });
      }
    }
  }

  return {
    /** True for the name of the forwarder, the proxy container through which servers reach the network. */
    isForwarder: (name: string): boolean => name === own,
    /** True while a server needs the forwarder. */
    isNeeded: (): boolean => members.size > 0,
    /** True while a server is being adopted that may need the forwarder of the earlier run. */
    isAdopting: (): boolean => adopting > 0,
    /** Marks that a server with a network is being adopted. Dispose the result when the adoption is over. */
    beginAdoption(): Disposable {
      adopting++;
      return { [Symbol.dispose]: () => void adopting-- };
    },
    /**
     * Creates the network of a server, isolated from the outside. Throws HUB_LAUNCH_INVALID if the engine is too old.
     */
    async createNetwork(spec: LaunchSpec, network: Network): Promise<Member> {
      await requireIsolation(spec, engine);
      for (let attempt = 1; ; attempt++) {
        const subnet = randomSubnet();
        try {
          const isolated = { subnet: subnet.subnet, assigned: subnet.server };
          await createNetwork(spec, { engine, log, owner, removeNetwork }, isolated);
          return { server: spec.server, subnet, network };
        } catch (error) {
          const isTaken = error instanceof EngineError && /overlaps/.test(error.words);
          if (!isTaken || attempt === maxAttempts) throw error;
        }
      }
    },
    /** Finds the network of an earlier run. Undefined if it is not an isolated network of the hub's pool. */
    async findNetwork(spec: LaunchSpec, network: Network): Promise<Member | undefined> {
      const subnet = findSubnet(
        (await engine.findNetwork(networkNameOf(owner, spec)))?.isolatedSubnet,
      );
      return subnet && { server: spec.server, subnet, network };
    },
    join,
    /** Removes the network of a server, and tells the forwarder. */
    async leave(name: string): Promise<void> {
      members.delete(name);
      await removeNetwork(name);
      void forwarder.refresh().catch((error: unknown) => {
        log.debug(
          { problem: messageOf(error) },
          'the forwarder could not be told that a server was removed',
        );
      });
    },
    /** Removes a leftover network, for example of a server that ended while the engine did not answer. */
    async discardNetwork({ id, name }: { readonly id: string; readonly name: string }) {
      // A member whose network is missing would make every later start of the forwarder fail.
      members.delete(name);
      await removeNetwork(id);
    },
    /** Changes which targets the running instances of a server may reach, if that needs no new container. */
    async allow(server: string, network: Network): Promise<void> {
      let isChanged = false;
      for (const [name, member] of members) {
        const isSame = isDeepStrictEqual(fixedNetwork(member.network), fixedNetwork(network));
        if (member.server !== server || !isSame || isDeepStrictEqual(member.network, network))
          continue;
        members.set(name, { ...member, network });
        isChanged = true;
      }
      if (isChanged) await forwarder.refresh();
    },
    report: (server: string): EgressReport | undefined => counts.find(server),
    async stop(): Promise<void> {
      if (!isUsed) return;
      members.clear();
      try {
        await forwarder.stop();
        // A create call that the engine did not answer may have created another container.
        const left = await engine.findContainer(own);
        if (left?.labels[hubLabel] === owner.hubId) await engine.removeContainer(left.id);
        await engine.removeNetwork(own);
      } catch (error) {
        log.warn({ problem: messageOf(error) }, 'the forwarder of the network was not removed');
      }
    },
  };
}

/**
 * Refuses older engines: they give the engine's machine an address in every network, from which its services can be
 * reached.
 */
async function requireIsolation({ server }: LaunchSpec, engine: Engine): Promise<void> {
  const { version } = await engine.version();
  if (Number.parseInt(version, 10) >= firstVersion) return;
  throw new HubError(
    'HUB_LAUNCH_INVALID',
    `${server} has a "network", which needs Docker Engine ${firstVersion} or newer: older ones cannot separate it from this machine. ` +
      `The engine at ${engine.address} is ${version}. Update it, or remove "network"`,
    { data: { server } },
  );
}
