import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import type Dockerode from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { type Clock, HubError, http, https, isObject, within } from '#core';
import type { Address } from './address.ts';
import { loadDockerode } from './dockerode.ts';
import type { Bound, ContainerInfo, Engine, NetworkInfo } from './engine.ts';
import { isRefusal, toHubError } from './engine-error.ts';
import { hijack } from './hijack.ts';

/** An engine may be slow on a busy machine; one that takes longer than this is taken for away. */
const callMs = 30_000;
/** What stopping may take beyond the grace. */
const killMs = 10_000;
const statsMs = 2_000;
/** In which a build gets its share of the processors, in microseconds: the engine's own default. */
const cpuPeriodUs = 100_000;

/** The engine at an address, over dockerode, which is loaded with the first call. */
export function createEngine(address: Address, clock: Clock): Engine {
  let loading: Promise<Dockerode> | undefined;
  const docker = () => (loading ??= connect(address));

  async function call<T>(
    doing: string,
    work: (docker: Dockerode, signal: AbortSignal) => Promise<T>,
    { timeoutMs = callMs, signal }: Partial<Bound> = {},
  ): Promise<T> {
    try {
      const loaded = await docker();
      return await within(timeoutMs, { clock, signal }, inTime =>
        // A stream of the engine outlives the call, and ends with the signal too.
        work(loaded, signal ? AbortSignal.any([inTime, signal]) : inTime),
      );
    } catch (error) {
      if (signal?.aborted) throw cancelled(doing, signal.reason);
      throw toHubError(error, doing, address.text);
    }
  }

  return {
    address: address.text,
    version: bound =>
      call(
        'tell its version',
        async engine => {
          const {
            Version: version,
            Os: os,
            KernelVersion: kernel,
            ...rest
          } = await engine.version();
          return { version, os, product: productIn(rest), kernel: kernel ?? '' };
        },
        bound,
      ),
    events: (label, signal) =>
      call(
        'tell its events',
        async (engine, abortSignal) => {
          const filters = { type: ['container'], event: ['die', 'oom'], label: [label] };
          const stream = await engine.getEvents({
            filters: JSON.stringify(filters),
            abortSignal,
          });
          return asReadable(stream);
        },
        { signal },
      ),
    findImage: (reference, bound) =>
      absentIs404(
        call(
          `inspect the image ${reference}`,
          async engine => {
            const found = await engine.getImage(reference).inspect();
            const { Id: id, Config: config, RepoDigests: digests, RepoTags: tags } = found;
            // Where an image names no user or label, newer engines leave the field out.
            return {
              id,
              user: config.User ?? '',
              volumes: Object.keys(config.Volumes ?? {}),
              labels: config.Labels ?? {},
              digests: digests ?? [],
              tags: tags ?? [],
            };
          },
          bound,
        ),
      ),
    tagImage: (reference, repo, tag) =>
      call(
        `tag the image ${reference}`,
        async (engine, abortSignal) =>
          void (await engine.getImage(reference).tag({ repo, tag, abortSignal })),
      ),
    removeImage: reference =>
      call(
        `remove the image ${reference}`,
        async (engine, abortSignal) =>
          void (await engine.getImage(reference).remove(wire({}, undefined, abortSignal))),
      ),
    findVolume: name =>
      absentIs404(
        call(`inspect the volume ${name}`, async engine => {
          const { Labels: labels } = await engine.getVolume(name).inspect();
          return { labels: labels ?? {} };
        }),
      ),
    listVolumes: label =>
      call('list volumes', async (engine, abortSignal) => {
        const filters = JSON.stringify({ label: [label] });
        const { Volumes: found } = await engine.listVolumes({ filters, abortSignal });
        // An engine without any answers null.
        return (found ?? []).map(one => ({ name: one.Name, labels: one.Labels ?? {} }));
      }),
    volumeSizes: () =>
      call('tell the sizes of volumes', async (engine, abortSignal) => {
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        // dockerode's own call asks for images and containers as well.
        engine.modem.dial(
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
      call(
        `remove the volume ${name}`,
        async (engine, abortSignal) =>
          void (await engine.getVolume(name).remove(wire({}, undefined, abortSignal))),
      ),
    pullImage: (name, tag, signal) =>
      call(
        `pull the image ${name}:${tag}`,
        async (engine, abortSignal) =>
          asReadable(
            await engine.createImage(wire({ fromImage: name, tag }, undefined, abortSignal)),
          ),
        { signal },
      ),
    buildImage: (context, options, bounds, signal) =>
      call(
        `build the image ${options.tag}`,
        async (engine, abortSignal) => {
          const query = {
            t: options.tag,
            buildargs: {
              PACKAGE: options.package,
              ...(options.with && { EXTRAS: options.with.join(' ') }),
              ...(options.base !== undefined && { BASE: options.base }),
            },
            labels: options.labels,
            // Else the engine keeps the container of the step that failed.
            forcerm: 1,
            version: '1',
            networkmode: bounds.network,
            memory: bounds.memoryBytes,
            memswap: bounds.memoryBytes,
            cpuperiod: cpuPeriodUs,
            cpuquota: Math.round(bounds.cpus * cpuPeriodUs),
          };
          return asReadable(
            await engine.buildImage(Readable.from(context), wire(query, undefined, abortSignal)),
          );
        },
        { signal },
      ),
    createContainer: (name, body) =>
      call(`create the container ${name}`, async (engine, abortSignal) => {
        const container = await engine.createContainer(wire({ name }, body, abortSignal));
        return container.id;
      }),
    attach: id =>
      call(`attach to the container ${id}`, (engine, signal) => hijack(engine, id, signal)),
    startContainer: (id, signal) =>
      call(
        `start the container ${id}`,
        async (engine, abortSignal) => void (await engine.getContainer(id).start({ abortSignal })),
        { signal },
      ),
    findContainer: (idOrName, bound) =>
      absentIs404(
        call(
          `inspect the container ${idOrName}`,
          async (engine, abortSignal) =>
            containerInfo(await engine.getContainer(idOrName).inspect({ abortSignal })),
          bound,
        ),
      ),
    waitForContainer: (id, timeoutMs) =>
      call(
        `wait for the container ${id}`,
        async (engine, abortSignal) =>
          void (await engine
            .getContainer(id)
            .wait(wire({ condition: 'not-running' }, undefined, abortSignal))),
        { timeoutMs },
      ),
    stopContainer: (id, graceSeconds) =>
      call(
        `stop the container ${id}`,
        async (engine, abortSignal) =>
          void (await engine
            .getContainer(id)
            .stop(wire({ t: graceSeconds }, undefined, abortSignal))),
        { timeoutMs: graceSeconds * 1000 + killMs },
      ),
    removeContainer: id =>
      unlessGone(
        call(
          `remove the container ${id}`,
          async (engine, abortSignal) =>
            void (await engine
              .getContainer(id)
              .remove(wire({ force: 1, v: 1 }, undefined, abortSignal))),
        ),
      ),
    listContainers: label =>
      call('list containers', async (engine, abortSignal) => {
        const filters = JSON.stringify({ label: [label] });
        const found = await engine.listContainers({ all: true, filters, abortSignal });
        return found.map(one => ({
          id: one.Id,
          name: one.Names[0]?.slice(1) ?? '',
          labels: one.Labels,
          isRunning: one.State === 'running',
        }));
      }),
    stats: id =>
      call(
        `read the statistics of the container ${id}`,
        (engine, abortSignal) => {
          const options = { stream: false, 'one-shot': true, abortSignal } as const;
          return engine.getContainer(id).stats(options);
        },
        { timeoutMs: statsMs },
      ),
    createNetwork: (name, labels) =>
      call(`create the network ${name}`, async (engine, abortSignal) => {
        const body = { Name: name, Driver: 'bridge', Labels: { ...labels } };
        await engine.createNetwork({ ...body, ...wire({}, body, abortSignal) });
      }),
    findNetwork: name =>
      absentIs404(
        call(`inspect the network ${name}`, async engine =>
          networkInfo(await engine.getNetwork(name).inspect()),
        ),
      ),
    listNetworks: label =>
      call('list networks', async (engine, abortSignal) => {
        const filters = JSON.stringify({ label: [label] });
        const found = await engine.listNetworks({ filters, abortSignal });
        return found.map(networkInfo);
      }),
    removeNetwork: idOrName =>
      unlessGone(
        call(
          `remove the network ${idOrName}`,
          async (engine, abortSignal) =>
            void (await engine.getNetwork(idOrName).remove(wire({}, undefined, abortSignal))),
        ),
      ),
  };
}

async function connect(address: Address): Promise<Dockerode> {
  const Docker = await loadDockerode();
  const isTls = 'protocol' in address.connect && address.connect.protocol === 'https';
  // No connection is kept for later: after a restart of the engine a call would fail on a dead one.
  const agent = isTls ? new https.Agent() : new http.Agent();
  // docker-modem prints the options of every request in full, for a debug log that nobody reads: an
  // agent with all its sockets costs it milliseconds and megabytes a call.
  Object.assign(agent, { [inspect.custom]: () => 'Agent' });
  const options = { ...address.connect, agent };
  return new Docker(options);
}

/**
 * Query and body as docker-modem takes them apart. Without this it puts everything into both, so
 * that environments, which hold secrets, would stand in URLs and from there in logs.
 */
function wire(query: object, body: object | undefined, abortSignal: AbortSignal) {
  return { _query: query, _body: body ?? {}, abortSignal };
}

function asReadable(stream: NodeJS.ReadableStream): Readable {
  return stream instanceof Readable ? stream : new Readable().wrap(stream);
}

/** The product's name, which dockerode's types lack. */
function productIn(answer: { readonly [name: string]: unknown }): string {
  const platform = answer['Platform'];
  const name = isObject(platform) ? platform['Name'] : undefined;
  return typeof name === 'string' ? name : '';
}

function containerInfo(info: ContainerInspectInfo): ContainerInfo {
  return {
    id: info.Id,
    name: info.Name.slice(1),
    image: info.Config.Image,
    imageId: info.Image,
    labels: info.Config.Labels ?? {},
    state: {
      isRunning: info.State.Running,
      startedAt: info.State.StartedAt,
      exitCode: info.State.ExitCode,
      oomKilled: info.State.OOMKilled,
    },
  };
}

/** An engine that could not measure a volume says -1. */
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

function networkInfo(info: {
  readonly Id: string;
  readonly Name: string;
  readonly Labels?: Record<string, string> | undefined;
}): NetworkInfo {
  return { id: info.Id, name: info.Name, labels: info.Labels ?? {} };
}

async function absentIs404<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isRefusal(error, 404)) return undefined;
    throw error;
  }
}

/** 409 is the engine's answer while it removes the thing already. */
async function unlessGone(asked: Promise<void>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error;
  }
}

function cancelled(doing: string, reason: unknown): HubError {
  return reason instanceof HubError
    ? reason
    : new HubError('HUB_CALL_CANCELLED', `cancelled before the engine could ${doing}`, {
        cause: reason,
      });
}
