import type { Duplex, Readable } from 'node:stream';
import type { ContainerStats } from 'dockerode';
import type { CreateBody } from '../container/options.ts';
import type { EngineVersion } from '../exposure.ts';

/** Timeout of a call, and the signal that aborts it. */
export type Bound = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined };

type Labels = Readonly<Record<string, string>>;

/** Fields of an inspected container that the hub uses. */
export type ContainerInfo = {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly labels: Labels;
  readonly state: {
    readonly isRunning: boolean;
    /** In the engine's format. Changes with each start. */
    readonly startedAt: string;
    readonly exitCode: number;
    readonly oomKilled: boolean;
  };
};

/** Fields of a container list entry that the hub uses. */
export type ListedContainer = {
  readonly id: string;
  readonly name: string;
  readonly labels: Labels;
  readonly isRunning: boolean;
};

/** Fields of an image that the hub uses. */
export type ImageInfo = {
  readonly id: string;
  readonly user: string;
  /** Folders that the image declares with `VOLUME`, as written. */
  readonly volumes: readonly string[];
  readonly labels: Labels;
  /** Registry digests, as `name@sha256:...`. Empty for an image that was built on this engine. */
  readonly digests: readonly string[];
  /** All names of the image on this engine, as `name:tag`. */
  readonly tags: readonly string[];
};

/** Fields of a network that the hub uses. */
export type NetworkInfo = {
  readonly id: string;
  readonly name: string;
  readonly labels: Labels;
};

/** Fields of a volume that the hub uses. */
export type VolumeInfo = Omit<NetworkInfo, 'id'>;

/** Options of a build. */
export type BuildOptions = {
  readonly tag: string;
  readonly package: string;
  /** Additional packages to install. */
  readonly with?: readonly string[];
  /** Replaces the base image of the context. */
  readonly base?: string;
  readonly labels: Labels;
};

/** Limits of each build step. */
export type BuildLimits = { readonly memoryBytes: number; readonly cpus: number };

/**
 * The calls of the Docker engine that the hub makes. The broker admits exactly these. All reject with
 * HUB_ENGINE_UNREACHABLE if the engine does not answer in time, and with EngineError (HUB_ENGINE_REFUSED) if it refuses.
 * The `find` calls resolve with undefined for 404.
 */
export interface Engine {
  readonly address: string;
  version(bound?: Partial<Bound>): Promise<EngineVersion>;
  /** Streams exits and out-of-memory events of containers with this label, one JSON object per line. */
  events(label: string, signal: AbortSignal): Promise<Readable>;
  findImage(reference: string, bound?: Partial<Bound>): Promise<ImageInfo | undefined>;
  /** Adds a name to an image. */
  tagImage(reference: string, name: string, tag: string): Promise<void>;
  /** Removes a name, and with the last name the image. Refused with 409 while a container uses the image. */
  removeImage(reference: string): Promise<void>;
  findVolume(name: string): Promise<{ readonly labels: Labels } | undefined>;
  /** The broker refuses this call with 403. */
  listVolumes(label: string): Promise<readonly VolumeInfo[]>;
  /** Sizes in bytes by name. The broker answers only for volumes of this hub. Slow: the engine measures all volumes. */
  volumeSizes(): Promise<ReadonlyMap<string, number>>;
  /** Refused with 409 while a container uses the volume. */
  removeVolume(name: string): Promise<void>;
  /** Resolves when the engine begins to respond. The stream reports progress and errors. */
  pullImage(name: string, tag: string, signal: AbortSignal): Promise<Readable>;
  /** Uses the classic builder: BuildKit ignores limits and refuses networks by name. */
  buildImage(
    context: Buffer,
    options: BuildOptions,
    bounds: BuildLimits & { readonly network: string },
    signal: AbortSignal,
  ): Promise<Readable>;
  /** Resolves with the id of the container. */
  createContainer(name: string, body: CreateBody): Promise<string>;
  /** Resolves with one connection for stdin and the multiplexed stdout and stderr. */
  attach(id: string): Promise<Duplex>;
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  findContainer(idOrName: string, bound?: Partial<Bound>): Promise<ContainerInfo | undefined>;
  /** Resolves when the container has exited. */
  waitForContainer(id: string, timeoutMs: number): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves when the container has exited. */
  stopContainer(id: string, graceSeconds: number): Promise<void>;
  /** Kills and removes a container with its anonymous volumes. Ignores a container that is already removed. */
  removeContainer(id: string): Promise<void>;
  listContainers(label: string): Promise<readonly ListedContainer[]>;
  /** Has a short timeout, because users wait for it. */
  stats(id: string): Promise<ContainerStats>;
  createNetwork(name: string, labels: Labels): Promise<void>;
  findNetwork(name: string): Promise<NetworkInfo | undefined>;
  listNetworks(label: string): Promise<readonly NetworkInfo[]>;
  /** Ignores a network that is already removed. */
  removeNetwork(idOrName: string): Promise<void>;
}
