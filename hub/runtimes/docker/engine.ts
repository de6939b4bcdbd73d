import type { Duplex, Readable } from 'node:stream';
import type { ContainerStats } from 'dockerode';
import type { EngineVersion } from './exposure.ts';
import type { CreateBody } from './options.ts';

/** How long a call may take, and the signal that ends it. */
export type Bound = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined };

/** What the hub reads of an inspected container. */
export type ContainerInfo = {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: {
    readonly isRunning: boolean;
    /** As the engine writes it: another time is another process. */
    readonly startedAt: string;
    readonly exitCode: number;
    readonly oomKilled: boolean;
  };
};

/** What the hub reads of a container in a list. */
export type ListedContainer = {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
};

/** What the hub reads of an image. */
export type ImageInfo = {
  readonly id: string;
  readonly user: string;
  /** The folders that it declares with `VOLUME`, as written. */
  readonly volumes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** What registries know it by, as `name@sha256:...`; none where it was built here. */
  readonly digests: readonly string[];
  /** All names that it has here, as `name:tag`. */
  readonly tags: readonly string[];
};

/** What the hub reads of a network. */
export type NetworkInfo = {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
};

/** What the hub reads of a volume. */
export type VolumeInfo = Omit<NetworkInfo, 'id'>;

/** All that a build is given besides its context. */
export type BuildOptions = {
  readonly tag: string;
  readonly package: string;
  /** Packages that are installed beside it. */
  readonly with?: readonly string[];
  /** Another image than that of the context to build on. */
  readonly base?: string;
  readonly labels: Readonly<Record<string, string>>;
};

/** What each step of a build may use. */
export type BuildLimits = { readonly memoryBytes: number; readonly cpus: number };

/**
 * The calls of the Docker engine that the hub makes, and no others: the broker admits exactly these.
 * All throw HUB_ENGINE_UNREACHABLE where nothing answers in time, and EngineError
 * (HUB_ENGINE_REFUSED) with the engine's words where it says no. `find` answers undefined for 404.
 */
export interface Engine {
  readonly address: string;
  version(bound?: Partial<Bound>): Promise<EngineVersion>;
  /** Ends of containers with this label and shortages of memory in them, one JSON object a line. */
  events(label: string, signal: AbortSignal): Promise<Readable>;
  findImage(reference: string, bound?: Partial<Bound>): Promise<ImageInfo | undefined>;
  /** Gives an image one more name. */
  tagImage(reference: string, name: string, tag: string): Promise<void>;
  /** Takes the name off it, and removes it with its last name. Refused with 409 while a container uses it. */
  removeImage(reference: string): Promise<void>;
  findVolume(
    name: string,
  ): Promise<{ readonly labels: Readonly<Record<string, string>> } | undefined>;
  /** For who looks at the engine itself: through the broker it is refused with 403. */
  listVolumes(label: string): Promise<readonly VolumeInfo[]>;
  /** The bytes in each volume; through the broker in those of this hub. The engine walks through all of them. */
  volumeSizes(): Promise<ReadonlyMap<string, number>>;
  /** Refused with 409 while a container uses it. */
  removeVolume(name: string): Promise<void>;
  /** Resolves when the engine begins to answer; the stream tells how it goes on, or failed. */
  pullImage(name: string, tag: string, signal: AbortSignal): Promise<Readable>;
  /** By the classic builder: BuildKit takes no notice of bounds, and refuses a network by its name. */
  buildImage(
    context: Buffer,
    options: BuildOptions,
    bounds: BuildLimits & { readonly network: string },
    signal: AbortSignal,
  ): Promise<Readable>;
  /** Answers with the container's id. */
  createContainer(name: string, body: CreateBody): Promise<string>;
  /** The container's stdin, stdout and stderr on one connection, the latter two multiplexed. */
  attach(id: string): Promise<Duplex>;
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  findContainer(idOrName: string, bound?: Partial<Bound>): Promise<ContainerInfo | undefined>;
  /** Resolves when the container has ended, within `timeoutMs`. */
  waitForContainer(id: string, timeoutMs: number): Promise<void>;
  /** SIGTERM, then SIGKILL after the grace; resolves when the container has ended. */
  stopContainer(id: string, graceSeconds: number): Promise<void>;
  /** Ends and removes it, with its anonymous volumes. One that is gone, or going, is no error. */
  removeContainer(id: string): Promise<void>;
  listContainers(label: string): Promise<readonly ListedContainer[]>;
  /** Has a short deadline, as somebody waits for it who wants to know something else as well. */
  stats(id: string): Promise<ContainerStats>;
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<void>;
  findNetwork(name: string): Promise<NetworkInfo | undefined>;
  listNetworks(label: string): Promise<readonly NetworkInfo[]>;
  /** One that is gone is no error. */
  removeNetwork(idOrName: string): Promise<void>;
}
