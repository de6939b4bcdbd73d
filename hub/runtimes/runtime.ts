import type { PackageSpec } from '#config';
import { type JsonObject, HubError } from '#core';
import type { Channel } from '#jsonrpc';

export type Exit = {
  readonly code?: number;
  readonly signal?: string;
  /** True if the kernel killed the server because it exceeded its memory limit. */
  readonly outOfMemory?: boolean;
  /** True if the connection is lost, but the server may still be running and may be adopted by its handle. */
  readonly lost?: boolean;
  readonly detail: string;
  /** Set if the hub stopped the server and must not restart it until the operator has fixed the cause. */
  readonly refusal?: HubError;
};

type Limits = {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly pids: number;
  /** Size limit in bytes of each of /tmp, HOME and the empty volumes that the image declares. Counts as memory. */
  readonly scratchBytes: number;
  readonly volumeBytes: number;
  /** Size limit in bytes of each file that the server writes (RLIMIT_FSIZE). Absent: no limit. */
  readonly fileBytes?: number;
};

/** A folder that an image is built from. */
export type BuildSource = {
  /** How the image is built: by the Dockerfile of the folder, by npm, or by uv. */
  readonly kind: 'docker' | 'npm' | 'python';
  /** Absolute path of the folder. */
  readonly folder: string;
  /** Digest of the files in the folder. The build fails if they have changed since. */
  readonly digest: string;
  /** Python version, such as `3.12`. Absent: the version of the base image. */
  readonly python?: string;
};

/**
 * Source of an image: its reference, the package or the folder to build it from, or a folder of the hub's own images.
 */
export type ImageSource = (
  | { readonly reference: string }
  | { readonly package: PackageSpec }
  | { readonly build: BuildSource }
  | { readonly context: 'agent' | 'git' | 'ollama-mcp' }
) & {
  /** Debian packages to install in the image, except in the hub's own. Absent: none. */
  readonly systemPackages?: readonly string[];
};

type Mount = {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
};

type Volume = { readonly name: string; readonly target: string };

/** A folder in a volume that is not the server's own, such as the data volume of a hub that runs in a container. */
type VolumeFolder = {
  /** Name of the volume on the engine. */
  readonly volume: string;
  /** Path of the folder in the volume. The folder must exist. */
  readonly path: string;
  readonly target: string;
};

/** Launches a server in its own container. All options that are not listed are at their strictest. */
export type DockerTarget = {
  readonly kind: 'docker';
  readonly image: ImageSource;
  readonly command?: string;
  readonly args: readonly string[];
  readonly workingDirectory?: string;
  /** Replaces the user of the image. Absent: the user of the image, or an unprivileged user instead of root. */
  readonly user?: string;
  /** Network access. `allow`: targets as in config entries. */
  readonly network: 'none' | 'bridge' | { readonly allow: readonly string[] };
  /** Name of the container's network. Absent: the name of the container. */
  readonly networkName?: string;
  readonly mounts: readonly Mount[];
  /** Named volumes, which outlive the container. */
  readonly volumes: readonly Volume[];
  /** Folders of other volumes to mount. Absent: none. Requires Docker Engine 26 or newer. */
  readonly volumeFolders?: readonly VolumeFolder[];
  readonly limits: Limits;
  /** An empty folder, the only one that the server may both write to and execute from. Counts as memory. */
  readonly programs?: { readonly path: string; readonly bytes: number };
  /** Output that the engine stores. `none`: nothing, so that `docker logs` is empty. */
  readonly logs: 'bounded' | 'none';
};

/** Launches a server as a child process of the hub, which is not isolated. */
export type ProcessTarget = {
  readonly kind: 'process';
  readonly command: string;
  readonly args: readonly string[];
  readonly workingDirectory?: string;
};

export type RemoteTarget = {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type Target = DockerTarget | ProcessTarget | RemoteTarget;

export type LaunchSpec = {
  /** Name of the server in the config, used for container names and messages. */
  readonly server: string;
  /** Name of an instance of its own, for example for a session. Absent: the instance that all clients share. */
  readonly instance?: string;
  /**
   * Keyed digest of the launch, which a later run of the hub verifies on adoption. Absent: the server is not adopted.
   */
  readonly digest?: string;
  readonly target: Target;
  /** Environment variables. Values are secrets: never log, label or display them. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of the variables of `env` whose values contain a secret (`${secret:NAME}`). Absent: none. */
  readonly secretEnv?: readonly string[];
  /** Maximum length of a line in bytes. A longer line is discarded and fails its call. */
  readonly maxLineBytes: number;
  readonly maxWaitingBytes: number;
  /** Timeout in ms for launch or adoption, without building or pulling the image. Absent: none. */
  readonly timeoutMs?: number;
};

/** Events of a launch and of the running instance. Must not throw. */
export type LaunchEvents = {
  /** A line of stderr, without line break, truncated to a maximum length. */
  stderr(line: string): void;
  /** A message about the launch, such as the progress of a build. */
  progress(text: string): void;
  /** Advice to the operator on the server's entry, as sentences. It may be repeated. */
  advice?(text: string): void;
  /** The container exists, and is started when this resolves. Must not reject. Only the Docker runtime reports it. */
  created?(containerId: string): Promise<void>;
};

export type Usage = {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly pids: number;
  readonly pidsLimit: number;
  readonly cpuMs: number;
};

/** Connections of a server to the network: how many were allowed, and which were refused. */
export type EgressReport = {
  readonly allowed: number;
  /** Number of all refused connections. */
  readonly blockedCount: number;
  /** The targets that were refused most recently, the latest first. */
  readonly blocked: readonly BlockedTarget[];
};

export type BlockedTarget = {
  readonly target: string;
  readonly why: string;
  readonly count: number;
  /** Time of the last refusal, in milliseconds since the epoch. */
  readonly lastAt: number;
};

export interface Instance {
  /** Identifies the instance for the operator: container id and name, pid, or URL. Contains no secrets. */
  readonly about: JsonObject;
  /** Identity of the program, such as the image id. Absent: unknown. */
  readonly identity?: string;
  /**
   * How the values of `secretEnv` reached the server. `docker inspect` shows the environment of a container. Absent: no
   * secrets.
   */
  readonly secrets?: 'stdin' | 'environment' | undefined;
  readonly channel: Channel;
  /** Time when the process started, in milliseconds since the epoch. Absent: it started with the launch. */
  readonly startedAt?: number;
  /** True if a remote server may use sessions (until MCP 2025-11-25). Never rejects. Absent for local servers. */
  readonly mayKeepSessions?: (signal: AbortSignal) => Promise<boolean>;
  /** Returns the handle for a later adoption. Rejects with HubError. Absent: the instance cannot be adopted. */
  readonly handle?: () => Promise<string>;
  /** Resolves when the instance has exited for any reason. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Closes the input, sends SIGTERM, kills after `graceMs`, and removes the instance. May be called several times. */
  stop(options: { readonly graceMs: number }): Promise<Exit>;
  usage(): Promise<Usage | undefined>;
}

export interface Runtime {
  readonly kind: Target['kind'];
  /** Checks if instances can be launched now. `detail` describes the problem or the engine. */
  probe(signal: AbortSignal): Promise<{ readonly healthy: boolean; readonly detail: string }>;
  /** Starts a server and connects its channel. Rejects with HubError on failure or abort, and leaves nothing behind. */
  launch(spec: LaunchSpec, events: LaunchEvents, signal: AbortSignal): Promise<Instance>;
  /**
   * Reconnects to a process of an earlier run of the hub, or after a lost connection. Resolves with undefined if the
   * process has exited or differs from the spec, and then removes it. Rejects with HubError if its state is unknown
   * now. Absent: servers of this runtime do not outlive the hub.
   */
  readonly adopt?: (
    spec: LaunchSpec,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
  ) => Promise<Instance | undefined>;
  /** Returns the `Instance.identity` of a launch now; undefined if its image is missing. Rejects with HubError. */
  readonly identify?: (spec: LaunchSpec) => Promise<string | undefined>;
}

/** An object that was created for a server and remains when the server is stopped. */
export type Belonging = { readonly kind: 'image' | 'volume' | 'folder'; readonly name: string };

/** Prepares servers for their first start, and cleans up after their removal. */
export interface Upkeep {
  /** Builds or pulls what a launch needs, and returns a description. Rejects with HubError. */
  prepare(spec: LaunchSpec, events: LaunchEvents, signal: AbortSignal): Promise<JsonObject>;
  /** Returns all belongings that a launch may create, whether they exist or not. Rejects with HubError. */
  candidates(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** Returns the candidates that exist and were created by a hub. Rejects with HubError. */
  belongings(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** Removes a belonging, if it exists. Rejects with HubError if it is in use, or does not belong to the hub. */
  discard(belonging: Belonging): Promise<void>;
}

/** An image that the hub has built or used. */
export type BuiltImage = {
  readonly reference: string;
  /** The package in the image, such as `name@1.0.0`; undefined for an image of the hub's own. */
  readonly package: string | undefined;
  readonly bytes: number;
};

/** The result of a removal. `why`: the reason why an image was not removed. */
type Pruned = {
  readonly removed: readonly BuiltImage[];
  readonly left: readonly (BuiltImage & { readonly why: string })[];
};

/** Removes images of this hub that no server needs any more. */
export interface ImagePruning {
  /**
   * Removes all images except the needed ones, or only lists them. An image that a container of this hub uses stays.
   */
  prune(
    needed: readonly DockerTarget['image'][],
    options: { readonly isDry: boolean },
  ): Promise<Pruned>;
}

/** If the signal has aborted, throws its reason if that is a HubError, otherwise HUB_CALL_CANCELLED. */
export function throwIfCancelled({ server }: LaunchSpec, { aborted, reason }: AbortSignal): void {
  if (!aborted) return;
  if (reason instanceof HubError) throw reason;
  throw new HubError('HUB_CALL_CANCELLED', `the start of ${server} was cancelled`, {
    cause: reason,
    data: { server },
  });
}
