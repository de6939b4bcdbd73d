import { Readable } from 'node:stream';
import { type CallBound, type EngineCalls, wire } from './call.ts';

export type BuildOptions = {
  readonly tag: string;
  /** The package in the image. Absent if the image is not of a package. */
  readonly package?: string;
  readonly with?: readonly string[];
  /** Replaces the base image that the build context names. */
  readonly base?: string;
  /** Further build arguments. */
  readonly args?: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** True if the steps run even if the engine has their results. */
  readonly isUncached?: boolean;
};

export type BuildLimits = { readonly memoryBytes: number; readonly cpus: number };

/** Period in µs of the CPU limit of a build. The engine's default. */
const cpuPeriodUs = 100_000;

export const imageCalls = ({ call, find, list }: EngineCalls) => ({
  /** Returns all images with a label, with all their names. */
  listImages: (label: string) =>
    list('images', label, async (docker, options) => {
      const found = await docker.listImages(options);
      return found.map(one => ({
        id: one.Id,
        tags: one.RepoTags ?? [],
        labels: one.Labels ?? {},
        bytes: one.Size,
      }));
    }),
  findImage: (reference: string, bound?: CallBound) =>
    find(
      `image ${reference}`,
      async docker => {
        const found = await docker.getImage(reference).inspect();
        const { Id: id, Config: config, RepoDigests: digests, RepoTags: tags } = found;
        // Newer engines omit empty fields.
        return {
          id,
          user: config.User ?? '',
          /** Folders that the image declares with `VOLUME`, as written. */
          volumes: Object.keys(config.Volumes ?? {}),
          entrypoint: [config.Entrypoint ?? []].flat(),
          /** Arguments of the entrypoint. */
          command: config.Cmd ?? [],
          /** Environment variables, as `NAME=value`. */
          env: config.Env ?? [],
          labels: config.Labels ?? {},
          /** Registry digests, as `name@sha256:...`. Empty for an image that was built on this engine. */
          digests: digests ?? [],
          /** All names of the image on this engine, as `name:tag`. */
          tags: tags ?? [],
        };
      },
      bound,
    ),
  tagImage: (reference: string, repo: string, tag: string) =>
    call<void>(`tag the image ${reference}`, (docker, abortSignal) =>
      docker.getImage(reference).tag({ repo, tag, abortSignal }),
    ),
  /**
   * Removes a name of an image, and the image with its last name. Refused with 409 while a container uses the image.
   */
  removeImage: (reference: string) =>
    call<void>(`remove the image ${reference}`, (docker, signal) =>
      docker.getImage(reference).remove(wire(signal)),
    ),
  /** Resolves when the engine begins to respond. The stream reports progress and errors. */
  pullImage: (name: string, tag: string, ending: AbortSignal) =>
    call(
      `pull the image ${name}:${tag}`,
      (docker, signal) => docker.createImage(wire(signal, { fromImage: name, tag })),
      { signal: ending },
    ),
  /** Builds an image with the classic builder: BuildKit ignores limits and refuses networks by name. */
  buildImage: (
    context: Buffer,
    options: BuildOptions,
    bounds: BuildLimits & { readonly network: string },
    ending: AbortSignal,
  ) =>
    call(
      `build the image ${options.tag}`,
      (docker, signal) => {
        const query = {
          t: options.tag,
          buildargs: {
            ...(options.package !== undefined && { PACKAGE: options.package }),
            ...(options.with && { EXTRAS: options.with.join(' ') }),
            ...(options.base !== undefined && { BASE: options.base }),
            ...options.args,
          },
          labels: options.labels,
          // Without this option the engine does not remove the container of a failed step.
          forcerm: 1,
          ...(options.isUncached && { nocache: 1 }),
          version: '1',
          networkmode: bounds.network,
          memory: bounds.memoryBytes,
          memswap: bounds.memoryBytes,
          cpuperiod: cpuPeriodUs,
          cpuquota: Math.round(bounds.cpus * cpuPeriodUs),
        };
        return docker.buildImage(Readable.from(context), wire(signal, query));
      },
      { signal: ending },
    ),
});
