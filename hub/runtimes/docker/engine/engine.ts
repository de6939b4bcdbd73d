import { type Clock, isObject } from '#core';
import type { Address } from './address.ts';
import {
  type CallBound,
  type EngineCall,
  createCall,
  dial,
  labelFilter,
  unlessAbsent,
  unlessGone,
  wire,
} from './call.ts';
import { containerCalls } from './containers.ts';
import { imageCalls } from './images.ts';

/**
 * The calls of the Docker engine that the hub makes. The broker admits exactly these. All reject with
 * HUB_ENGINE_UNREACHABLE if the engine does not answer in time, and with EngineError (HUB_ENGINE_REFUSED) if it refuses.
 * The `find` calls resolve with undefined for 404.
 */
export type Engine = ReturnType<typeof createEngine>;

/** Creates a client of the engine at an address, based on dockerode. Does no I/O before the first call. */
export function createEngine(address: Address, clock: Clock) {
  const call = createCall(address, clock);
  return {
    address: address.text,
    ...systemCalls(call),
    ...imageCalls(call),
    ...volumeCalls(call),
    ...containerCalls(call),
    ...networkCalls(call),
  };
}

const systemCalls = (call: EngineCall) => ({
  version: (bound?: CallBound) =>
    call(
      'tell its version',
      async docker => {
        const { Version: version, Os: os, KernelVersion: kernel, ...rest } = await docker.version();
        return { version, os, product: productIn(rest), kernel: kernel ?? '' };
      },
      bound,
    ),
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

/** The product name, which is missing in the types of dockerode. */
function productIn({ Platform: platform }: { readonly [name: string]: unknown }): string {
  const name = isObject(platform) ? platform['Name'] : undefined;
  return typeof name === 'string' ? name : '';
}

const volumeCalls = (call: EngineCall) => ({
  findVolume: (name: string) =>
    unlessAbsent(
      call(`inspect the volume ${name}`, async docker => {
        const { Labels: labels } = await docker.getVolume(name).inspect();
        return { labels: labels ?? {} };
      }),
    ),
  /** The broker refuses this call with 403. */
  listVolumes: (label: string) =>
    call('list volumes', async (docker, abortSignal) => {
      const filters = labelFilter(label);
      // An engine without volumes answers null.
      const { Volumes: found } = await docker.listVolumes({ filters, abortSignal });
      return (found ?? []).map(one => ({ name: one.Name, labels: one.Labels ?? {} }));
    }),
  /** Sizes in bytes by name. The broker answers only for volumes of this hub. Slow: the engine measures all volumes. */
  volumeSizes: () =>
    call('tell the sizes of volumes', async (docker, abortSignal) => {
      // dockerode's own function also requests images and containers.
      const body = await dial(docker, {
        path: '/system/df?',
        options: { type: 'volume' },
        method: 'GET',
        abortSignal,
        statusCodes: { 200: true, 403: 'refused', 500: 'server error' },
      });
      return sizesIn(body);
    }),
  /** Refused with 409 while a container uses the volume. */
  removeVolume: (name: string) =>
    call<void>(`remove the volume ${name}`, (docker, signal) =>
      docker.getVolume(name).remove(wire(signal)),
    ),
});

/** The engine answers -1 for a volume that it could not measure. */
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

const networkCalls = (call: EngineCall) => ({
  createNetwork: (name: string, labels: Readonly<Record<string, string>>) =>
    call(`create the network ${name}`, async (docker, signal) => {
      const body = { Name: name, Driver: 'bridge', Labels: { ...labels } };
      await docker.createNetwork({ ...body, ...wire(signal, {}, body) });
    }),
  findNetwork: (name: string) =>
    unlessAbsent(
      call(`inspect the network ${name}`, async docker =>
        networkInfo(await docker.getNetwork(name).inspect()),
      ),
    ),
  listNetworks: (label: string) =>
    call('list networks', async (docker, abortSignal) => {
      const filters = labelFilter(label);
      return (await docker.listNetworks({ filters, abortSignal })).map(networkInfo);
    }),
  removeNetwork: (idOrName: string) =>
    unlessGone(
      call(`remove the network ${idOrName}`, (docker, signal) =>
        docker.getNetwork(idOrName).remove(wire(signal)),
      ),
    ),
});

const networkInfo = (info: {
  readonly Id: string;
  readonly Name: string;
  readonly Labels?: Record<string, string> | undefined;
}) => ({ id: info.Id, name: info.Name, labels: info.Labels ?? {} });
