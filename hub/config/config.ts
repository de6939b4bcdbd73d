import type { OtlpSettings } from './otlp.ts';

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

/** Settings from the environment and `.env` (spec 1.3). */
export type Settings = {
  readonly host: string;
  readonly port: number;
  /** Bearer token that every request must carry. Required on any address but loopback. */
  readonly token: string | undefined;
  /** `off`: the hub cannot be administered over HTTP, even with the owner's key. */
  readonly administration: 'on' | 'off';
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /**
   * If the hub runs in a container: host names of its own addresses on the networks from which clients call it. The
   * hub listens on these addresses and on loopback. If empty, it listens on `host`.
   */
  readonly networks: readonly string[];
  /** Host names, besides localhost, under which clients may reach the hub. */
  readonly allowedHosts: readonly string[];
  /** Origins, besides the hub's own, from which browsers may call the hub. */
  readonly allowedOrigins: readonly string[];
  /** Set in the hub's image. The published port then limits access, so the hub may listen on all addresses. */
  readonly inContainer: boolean;
  readonly dataDir: string;
  readonly serversFile: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Undefined: `pretty` on a terminal, else `json`. */
  readonly logFormat: 'json' | 'pretty' | undefined;
  /** Id in the labels of everything that the hub creates. Default: the id stored in the data folder. */
  readonly hubId: string | undefined;
  /** Prefix of the names of containers, volumes and the compose project. */
  readonly hubName: string;
  /** Undefined: the platform's default. */
  readonly dockerHost: string | undefined;
  readonly build: { readonly memoryBytes: number; readonly cpus: number };
  readonly ollama: {
    /** Undefined: Ollama is not used. */
    readonly url: string | undefined;
    /** For rules that name none. */
    readonly model: string;
    /** True if the hub pulls models that rules name and Ollama does not have. */
    readonly isPulling: boolean;
  };
  /** May contain a password, so it is never logged. Undefined: caches and breaker state are kept in memory. */
  readonly redisUrl: string | undefined;
  /** First part of the names of all keys in Redis. Undefined: `agenthub`. */
  readonly deployment?: string;
  /** Undefined: vectors are stored in the data folder. */
  readonly qdrantUrl: string | undefined;
  readonly qdrantKey: string | undefined;
  readonly cache: {
    readonly maxEntries: number;
    readonly maxBytes: number;
    /** Minimum cosine similarity, from 0 to 1, for two prompts to count as the same. */
    readonly similarityThreshold: number;
  };
  readonly breaker: { readonly failureThreshold: number; readonly recoveryMs: number };
  /** Undefined: no traces or metrics are exported. */
  readonly otlp?: OtlpSettings;
  readonly rulesFile: string;
  /** For all clients together. */
  readonly limits: {
    readonly maxConnections: number;
    /** Sessions over streamable HTTP. If a client opens more, its session that was idle longest is ended. */
    readonly maxSessionsPerClient: number;
    /** Total size of request bodies and messages that have not arrived completely. */
    readonly maxUnfinishedBytes: number;
    /** Total size of responses that clients have not read yet. */
    readonly maxUnreadBytes: number;
  };
};
