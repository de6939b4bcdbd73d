/** The active config: the content of the files, with all defaults filled in. */
export type Config = {
  /** In file order. If two servers want the same public name, the first one gets it. */
  readonly servers: readonly ServerConfig[];
  readonly naming: Naming;
  /** Environment variables override it. */
  readonly listen?: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
  };
  /** Secret. */
  readonly token?: string;
  readonly administration?: 'on' | 'off';
  /** Whether principals with the administer grant are offered the management tools. */
  readonly managementTools?: boolean;
};

/** How tools and prompts are named on `/mcp` (spec 5.2). */
export type Naming = {
  readonly separator: '_' | '__' | '.';
  /** In characters. Longer names are cut and end in a stable hash. */
  readonly maxLength: number;
};

/** A server entry. `server-schema.ts` describes the keys that the fields come from. */
export type ServerConfig = {
  readonly name: string;
  /** Digest of what the entry launches, equal on every machine (see `originOf`). Contains no secrets. */
  readonly origin?: string | undefined;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  /**
   * Set while a changed entry waits for approval: the reason. The other fields are those of the previous entry, or
   * the server is disabled if there was none.
   */
  readonly heldBack?: string | undefined;
  readonly autoStart: boolean;
  readonly restart: 'permanent' | 'transient' | 'temporary';
  readonly maxRestarts: number;
  readonly healthCheckIntervalMs: number;
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly inputTimeoutMs: number;
  readonly maxLineBytes: number;
  readonly maxConcurrentCalls: number;
  readonly maxQueuedCalls: number;
  /** Per second. */
  readonly maxNotifications: number;
  /** Undefined: never. */
  readonly idleStopMs: number | undefined;
  readonly instance: 'shared' | 'session';
  readonly era: 'auto' | 'legacy' | 'modern';
  readonly maxInstances: number;
  readonly instanceIdleMs: number;
  readonly launch: LocalLaunch | RemoteLaunch;
};

export type LocalLaunch = {
  readonly kind: 'local';
  readonly runtime: 'auto' | 'docker' | 'process';
  readonly image: string | undefined;
  /** Built into an image, or run with npx or uvx as a process. Excludes `image`. */
  readonly package: PackageSpec | undefined;
  /** The command as written, or a program of `package`. Undefined if `package` or `image` defines what runs. */
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The original command line, if a launcher other than npx and uvx runs the package as a process. */
  readonly written?: { readonly command: string; readonly args: readonly string[] };
  /** Why a launcher's command line could not be converted to a package, and the remedy. */
  readonly noPackage?: string;
  readonly sandbox: Sandbox;
};

export type PackageSpec = {
  readonly ecosystem: 'npm' | 'pypi';
  /** Name and version as the installer expects them: `@scope/name@1.2.3`, `name==1.2.3`, or only the name. */
  readonly spec: string;
  readonly with?: readonly string[];
  readonly python?: string;
};

/** Permissions and limits of a server's container. */
export type Sandbox = {
  readonly network: 'none' | 'bridge';
  readonly mounts: readonly {
    /** Absolute path on the engine's machine. */
    readonly source: string;
    readonly target: string;
    readonly readOnly: boolean;
  }[];
  readonly volumes: readonly { readonly name: string; readonly target: string }[];
  readonly limits: {
    readonly memoryBytes: number;
    readonly cpus: number;
    readonly pids: number;
    readonly scratchBytes: number;
    readonly volumeBytes: number;
  };
  readonly logs: 'bounded' | 'none';
  readonly user: string | undefined;
};

export type RemoteLaunch = {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};
