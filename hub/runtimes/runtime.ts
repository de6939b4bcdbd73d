import type { HubError, JsonObject } from '#core';
import type { Channel } from '#jsonrpc';

/** How a server's process ended. */
export type Exit = {
  readonly code?: number;
  readonly signal?: string;
  /** The kernel ended it because it used more memory than its limit. */
  readonly outOfMemory?: boolean;
  /** The way to it is gone, and it may still run: whoever has its handle may take it back. */
  readonly lost?: boolean;
  /** One sentence for the operator. */
  readonly detail: string;
  /** Why it was ended and is not started again before the operator has changed something. */
  readonly refusal?: HubError;
};

export type Limits = {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly pids: number;
  /** Room in each of /tmp, HOME and the empty folders that the image declares as volumes; counts as memory. */
  readonly scratchBytes: number;
  /** What the server's volumes may hold together. */
  readonly volumeBytes: number;
};

/** A package that an image is built from, once, with the version that the spec names. */
export type PackageSource = {
  readonly ecosystem: 'npm' | 'pypi';
  /** Name and version as the installer takes them: `@scope/name@1.2.3`, `name==1.2.3`, or a bare name. */
  readonly spec: string;
  /** Packages of the same registry that are installed beside it. */
  readonly with?: readonly string[];
  /** The version of Python, such as `3.12`; absent for that of the base image. */
  readonly python?: string;
};

export type Mount = {
  /** An absolute path on the engine's machine. */
  readonly source: string;
  /** An absolute path in the container. */
  readonly target: string;
  readonly readOnly: boolean;
};

export type Volume = { readonly name: string; readonly target: string };

/** A server in a container of its own. Everything not said here is at its strictest. */
export type DockerTarget = {
  readonly kind: 'docker';
  /** An image reference, or the package to build one from. */
  readonly image: { readonly reference: string } | { readonly package: PackageSource };
  /** Replaces the image's entrypoint. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly workingDirectory?: string;
  /** Replaces the image's user; else the image's own, or an unprivileged one where that is root. */
  readonly user?: string;
  readonly network: 'none' | 'bridge';
  readonly mounts: readonly Mount[];
  /** Named volumes, kept when the container goes. */
  readonly volumes: readonly Volume[];
  readonly limits: Limits;
  /** `none`: nothing the server writes is kept by the engine, and `docker logs` has nothing to show. */
  readonly logs: 'bounded' | 'none';
};

/** A child process of the hub: not isolated. */
export type ProcessTarget = {
  readonly kind: 'process';
  readonly command: string;
  readonly args: readonly string[];
  readonly workingDirectory?: string;
};

/** A server that runs elsewhere and is reached over HTTP. */
export type RemoteTarget = {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type Target = DockerTarget | ProcessTarget | RemoteTarget;

export type LaunchSpec = {
  /** The server's name in the config: container names and messages are made from it. */
  readonly server: string;
  /** Which of several instances of the server this is; absent for the one that all clients share. */
  readonly instance?: string;
  /**
   * A keyed digest of all that it is launched from, by which a later run of the hub knows it for its own.
   * Absent on what no other run may take back.
   */
  readonly digest?: string;
  readonly target: Target;
  /** Values are secrets: they are never logged, labelled or shown. */
  readonly env: Readonly<Record<string, string>>;
  /** A longer line of the server fails its call and is discarded. */
  readonly maxLineBytes: number;
  readonly maxWaitingBytes: number;
  /**
   * How long the engine may take to launch it or to find it again, without what it takes to build or fetch
   * its image. In milliseconds; absent: as long as the driver thinks right.
   */
  readonly timeoutMs?: number;
};

/** What a driver tells while it launches and while the instance lives. Must not throw. */
export type LaunchEvents = {
  /** One line that the server wrote to stderr, without its line break, shortened to a bound. */
  stderr(line: string): void;
  /** One line about the launch itself: an image being built, a package being fetched. */
  progress(text: string): void;
};

export type Usage = {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly pids: number;
  readonly pidsLimit: number;
  /** Since the start. */
  readonly cpuMs: number;
};

/** A running server. */
export interface Instance {
  /** What identifies it to the operator: container id and name, pid, or URL. Holds no secret. */
  readonly about: JsonObject;
  /** What the program itself is known by, such as the id of its image; absent where nothing tells. */
  readonly identity?: string;
  readonly channel: Channel;
  /**
   * Whether a server elsewhere may keep sessions (MCP 2025-11-25 and older), as far as that is told without opening
   * one. Never rejects. Absent for what is launched here.
   */
  readonly mayKeepSessions?: (signal: AbortSignal) => Promise<boolean>;
  /**
   * What another run of the hub finds it by. Absent where none can; rejects with HubError where the
   * engine cannot be asked.
   */
  readonly handle?: () => Promise<string>;
  /** Settles exactly once, whoever ended it; never rejects. */
  readonly exited: Promise<Exit>;
  /**
   * Ends it: closes its input, asks it to terminate, forces it after `graceMs`. Resolves when it is
   * gone and nothing of it is left. Safe to call twice.
   */
  stop(options: { readonly graceMs: number }): Promise<Exit>;
  /** What it uses now; undefined where the driver cannot tell. */
  usage(): Promise<Usage | undefined>;
}

export interface Runtime {
  readonly kind: Target['kind'];
  /** Can instances be launched now? `detail` is a sentence that says why not, or what answers. */
  probe(signal: AbortSignal): Promise<{ readonly healthy: boolean; readonly detail: string }>;
  /**
   * Starts a server and gives its stdin and stdout as a channel. Throws HubError, and leaves nothing
   * behind, when it cannot be started or when the signal aborts.
   */
  launch(spec: LaunchSpec, events: LaunchEvents, signal: AbortSignal): Promise<Instance>;
  /**
   * Takes back a server that an earlier run of the hub has launched, as the same process, or one that the
   * way to was lost. Undefined where it is gone or is not what the spec would launch: what is left of
   * it is removed. Throws HubError where that cannot be told now. Absent where no server outlives its hub.
   */
  readonly adopt?: (
    spec: LaunchSpec,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
  ) => Promise<Instance | undefined>;
  /**
   * By what an instance would be known as `Instance.identity` that is launched now, where that is told without
   * building or fetching anything. Rejects with HubError where the engine cannot be asked.
   */
  readonly identify?: (spec: LaunchSpec) => Promise<string | undefined>;
}
