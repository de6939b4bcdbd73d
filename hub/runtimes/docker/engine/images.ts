import { Readable } from 'node:stream';
import { type Call, unlessAbsent, wire } from './call.ts';
import type { Engine } from './engine.ts';

/** Period in µs in which a build gets its share of the processors. The engine's default. */
const cpuPeriodUs = 100_000;

export const imageCalls = (
  call: Call,
): Pick<Engine, 'findImage' | 'tagImage' | 'removeImage' | 'pullImage' | 'buildImage'> => ({
  findImage: (reference, bound) =>
    unlessAbsent(
      call(
        `inspect the image ${reference}`,
        async docker => {
          const found = await docker.getImage(reference).inspect();
          const { Id: id, Config: config, RepoDigests: digests, RepoTags: tags } = found;
          // Newer engines omit empty fields.
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
    call(`tag the image ${reference}`, async (docker, abortSignal) => {
      await docker.getImage(reference).tag({ repo, tag, abortSignal });
    }),
  removeImage: reference =>
    call(`remove the image ${reference}`, async (docker, signal) => {
      await docker.getImage(reference).remove(wire(signal));
    }),
  pullImage: (name, tag, ending) =>
    call(
      `pull the image ${name}:${tag}`,
      async (docker, signal) =>
        asReadable(await docker.createImage(wire(signal, { fromImage: name, tag }))),
      { signal: ending },
    ),
  buildImage: (context, options, bounds, ending) =>
    call(
      `build the image ${options.tag}`,
      async (docker, signal) => {
        const query = {
          t: options.tag,
          buildargs: {
            PACKAGE: options.package,
            ...(options.with && { EXTRAS: options.with.join(' ') }),
            ...(options.base !== undefined && { BASE: options.base }),
          },
          labels: options.labels,
          // Without it the engine keeps the container of a failed step.
          forcerm: 1,
          version: '1',
          networkmode: bounds.network,
          memory: bounds.memoryBytes,
          memswap: bounds.memoryBytes,
          cpuperiod: cpuPeriodUs,
          cpuquota: Math.round(bounds.cpus * cpuPeriodUs),
        };
        return asReadable(await docker.buildImage(Readable.from(context), wire(signal, query)));
      },
      { signal: ending },
    ),
});

export const asReadable = (stream: NodeJS.ReadableStream): Readable =>
  stream instanceof Readable ? stream : new Readable().wrap(stream);
