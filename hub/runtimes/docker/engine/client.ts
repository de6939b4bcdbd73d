import { type Clock, isObject } from '#core';
import type { Address } from './address.ts';
import { type Call, createCall, labelFilter, unlessAbsent, unlessGone, wire } from './call.ts';
import { containerCalls } from './containers.ts';
import type { Engine, NetworkInfo } from './engine.ts';
import { asReadable, imageCalls } from './images.ts';

/** Creates a client of the engine at an address, based on dockerode. Does no I/O before the first call. */
export function createEngine(address: Address, clock: Clock): Engine {
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

const systemCalls = (call: Call): Pick<Engine, 'version' | 'events'> => ({
  version: bound =>
    call(
      'tell its version',
      async docker => {
        const { Version: version, Os: os, KernelVersion: kernel, ...rest } = await docker.version();
        return { version, os, product: productIn(rest), kernel: kernel ?? '' };
      },
      bound,
    ),
  events: (label, signal) =>
    call(
      'tell its events',
      async (docker, abortSignal) => {
        const filters = { type: ['container'], event: ['die', 'oom'], label: [label] };
        return asReadable(
          await docker.getEvents({ filters: JSON.stringify(filters), abortSignal }),
        );
      },
      { signal },
    ),
});

/** The product name, which is missing in the types of dockerode. */
function productIn({ Platform: platform }: { readonly [name: string]: unknown }): string {
  const name = isObject(platform) ? platform['Name'] : undefined;
  return typeof name === 'string' ? name : '';
}

const volumeCalls = (
  call: Call,
): Pick<Engine, 'findVolume' | 'listVolumes' | 'volumeSizes' | 'removeVolume'> => ({
  findVolume: name =>
    unlessAbsent(
      call(`inspect the volume ${name}`, async docker => {
        const { Labels: labels } = await docker.getVolume(name).inspect();
        return { labels: labels ?? {} };
      }),
    ),
  listVolumes: label =>
    call('list volumes', async (docker, abortSignal) => {
      const filters = labelFilter(label);
      // An engine without volumes answers null.
      const { Volumes: found } = await docker.listVolumes({ filters, abortSignal });
      return (found ?? []).map(one => ({ name: one.Name, labels: one.Labels ?? {} }));
    }),
  volumeSizes: () =>
    call('tell the sizes of volumes', async (docker, abortSignal) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      // dockerode's own function also requests images and containers.
      docker.modem.dial(
        {
          path: '/system/df?',
          options: { type: 'volume' },
          method: 'GET',
          abortSignal,
          statusCodes: { 200: true, 403: 'refused', 500: 'server error' },
        },
        (error: unknown, body: unknown) => (error ? reject(error) : resolve(body)),
      );
      return sizesIn(await promise);
    }),
  removeVolume: name =>
    call(`remove the volume ${name}`, async (docker, signal) => {
      await docker.getVolume(name).remove(wire(signal));
    }),
});

/** Sizes in bytes by volume name. The engine answers -1 for a volume that it could not measure. */
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

const networkCalls = (
  call: Call,
): Pick<Engine, 'createNetwork' | 'findNetwork' | 'listNetworks' | 'removeNetwork'> => ({
  createNetwork: (name, labels) =>
    call(`create the network ${name}`, async (docker, signal) => {
      const body = { Name: name, Driver: 'bridge', Labels: { ...labels } };
      await docker.createNetwork({ ...body, ...wire(signal, {}, body) });
    }),
  findNetwork: name =>
    unlessAbsent(
      call(`inspect the network ${name}`, async docker =>
        networkInfo(await docker.getNetwork(name).inspect()),
      ),
    ),
  listNetworks: label =>
    call('list networks', async (docker, abortSignal) => {
      const filters = labelFilter(label);
      return (await docker.listNetworks({ filters, abortSignal })).map(networkInfo);
    }),
  removeNetwork: idOrName =>
    unlessGone(
      call(`remove the network ${idOrName}`, async (docker, signal) => {
        await docker.getNetwork(idOrName).remove(wire(signal));
      }),
    ),
});

function networkInfo(info: {
  readonly Id: string;
  readonly Name: string;
  readonly Labels?: Record<string, string> | undefined;
}): NetworkInfo {
  return { id: info.Id, name: info.Name, labels: info.Labels ?? {} };
}
