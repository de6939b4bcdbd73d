import type { NetworkInspectInfo } from 'dockerode';
import { type Clock, isObject } from '#core';
import type { Address } from './address.ts';
import { type CallBound, type EngineCalls, createCalls, dial, wire } from './call.ts';
import { containerCalls } from './containers.ts';
import { imageCalls } from './images.ts';

/**
 * Timeout in ms for the sizes of volumes. The engine reads all files in all volumes: a server with a volume of some
 * million files could otherwise end the measurement, and with it the limits of all servers.
 */
const measureMs = 10 * 60_000;

/**
 * Calls of the Docker engine that the hub makes. The broker admits exactly these calls. They reject with
 * HUB_ENGINE_UNREACHABLE if the engine does not answer in time, and with EngineError (HUB_ENGINE_REFUSED) if it
 * refuses. The `find` calls resolve with undefined for 404.
 */
export type Engine = ReturnType<typeof createEngine>;

/** Creates a client of the engine at an address, based on dockerode. Does no I/O before the first call. */
export function createEngine(address: Address, clock: Clock) {
  const calls = createCalls(address, clock);
  return {
    address: address.text,
    ...systemCalls(calls),
    ...imageCalls(calls),
    ...volumeCalls(calls),
    ...containerCalls(calls),
    ...networkCalls(calls),
  };
}

const systemCalls = ({ call }: EngineCalls) => ({
  version: (bound?: CallBound) =>
    call(
      'tell its version',
      async docker => {
        const { Version: version, Os: os, KernelVersion: kernel, ...rest } = await docker.version();
        return { version, os, product: productIn(rest), kernel: kernel ?? '' };
      },
      bound,
    ),
  /** Returns which limits of containers the engine keeps. An engine that does not say so counts as keeping them. */
  limits: () =>
    call('tell which limits it keeps', async docker => {
      const info: unknown = await docker.info();
      const keeps = (name: string) => !isObject(info) || info[name] !== false;
      return {
        memory: keeps('MemoryLimit'),
        cpus: keeps('CpuCfsQuota'),
        pids: keeps('PidsLimit'),
      };
    }),
  /** Streams exits and out-of-memory events of containers with this label, one JSON object per line. */
  events: (label: string, signal: AbortSignal) =>
    call(
      'tell its events',
      (docker, abortSignal) => {
        const filters = { type: ['container'], event: ['die', 'oom'], label: [label] };
        return docker.getEvents({ filters: JSON.stringify(filters), abortSignal });
      },
      { signal },
    ),
});

/** Returns the product name, which is missing in the types of dockerode. */
function productIn({ Platform: platform }: { readonly [name: string]: unknown }): string {
  const name = isObject(platform) ? platform['Name'] : undefined;
  return typeof name === 'string' ? name : '';
}

const volumeCalls = ({ call, find, list }: EngineCalls) => ({
  findVolume: (name: string) =>
    find(`volume ${name}`, async docker => {
      const { Labels: labels } = await docker.getVolume(name).inspect();
      return { labels: labels ?? {} };
    }),
  /** Lists volumes with this label. The broker refuses this call with 403. */
  listVolumes: (label: string) =>
    list('volumes', label, async (docker, options) => {
      // An engine without volumes answers null.
      const { Volumes: found } = await docker.listVolumes(options);
      return (found ?? []).map(one => ({ name: one.Name, labels: one.Labels ?? {} }));
    }),
  /**
   * Returns sizes in bytes by volume name. The broker answers only for volumes of this hub. Slow: the engine measures
   * all volumes.
   */
  volumeSizes: () =>
    call(
      'tell the sizes of volumes',
      async (docker, abortSignal) => {
        // dockerode's own function also requests images and containers.
        const body = await dial(docker, {
          path: '/system/df?',
          options: { type: 'volume' },
          method: 'GET',
          abortSignal,
          statusCodes: { 200: true, 403: 'refused', 500: 'server error' },
        });
        return sizesIn(body);
      },
      { timeoutMs: measureMs },
    ),
  /** Removes a volume. Refused with 409 while a container uses the volume. */
  removeVolume: (name: string) =>
    call<void>(`remove the volume ${name}`, (docker, signal) =>
      docker.getVolume(name).remove(wire(signal)),
    ),
});

/** Returns the sizes of volumes by name. The engine answers -1 for a volume that it could not measure. */
function sizesIn(body: unknown): ReadonlyMap<string, number> {
  const volumes = isObject(body) ? body['Volumes'] : undefined;
  const sizes = new Map<string, number>();
  for (const volume of Array.isArray(volumes) ? volumes : []) {
    const usage = isObject(volume) ? volume['UsageData'] : undefined;
    const bytes = isObject(usage) ? usage['Size'] : undefined;
    if (isObject(volume) && typeof volume['Name'] === 'string' && typeof bytes === 'number')
      sizes.set(volume['Name'], Math.max(0, bytes));
  }
  return sizes;
}

const networkCalls = ({ call, find, list, remove }: EngineCalls) => ({
  /** Creates a network. `isolated`: the subnet, and the only address in it that the engine assigns by itself. */
  createNetwork: (
    name: string,
    labels: Readonly<Record<string, string>>,
    isolated?: { readonly subnet: string; readonly assigned: string },
  ) =>
    call(`create the network ${name}`, async (docker, signal) => {
      const body = {
        Name: name,
        Driver: 'bridge',
        Labels: { ...labels },
        ...(isolated && {
          Internal: true,
          EnableIPv6: false,
          IPAM: { Config: [{ Subnet: isolated.subnet, IPRange: `${isolated.assigned}/32` }] },
          // The engine's machine gets no address in the network. Since engine 28.
          Options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
        }),
      };
      await docker.createNetwork({ ...body, ...wire(signal, {}, body) });
    }),
  connectNetwork: (name: string, container: string, address: string) =>
    call(`connect ${container} to the network ${name}`, async (docker, signal) => {
      const EndpointConfig = { IPAMConfig: { IPv4Address: address } };
      const body = { Container: container, EndpointConfig };
      await docker.getNetwork(name).connect({ ...body, ...wire(signal, {}, body) });
    }),
  disconnectNetwork: (name: string, container: string) =>
    call(`disconnect ${container} from the network ${name}`, async (docker, signal) => {
      const body = { Container: container, Force: true };
      await docker.getNetwork(name).disconnect({ ...body, ...wire(signal, {}, body) });
    }),
  findNetwork: (name: string) =>
    find(`network ${name}`, async docker => networkInfo(await docker.getNetwork(name).inspect())),
  listNetworks: (label: string) =>
    list('networks', label, async (docker, options) =>
      (await docker.listNetworks(options)).map(networkInfo),
    ),
  removeNetwork: (idOrName: string) =>
    remove(`network ${idOrName}`, (docker, signal) =>
      docker.getNetwork(idOrName).remove(wire(signal)),
    ),
});

const networkInfo = ({ Id: id, Name: name, Labels: labels, ...rest }: NetworkInspectInfo) => ({
  id,
  name,
  labels: labels ?? {},
  /** Subnet of a network from which neither the machine nor the outside can be reached. */
  ...(rest.Options?.['com.docker.network.bridge.gateway_mode_ipv4'] === 'isolated' && {
    isolatedSubnet: rest.IPAM?.Config?.[0]?.['Subnet'],
  }),
});
