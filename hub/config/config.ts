import type { Otlp } from './otlp.ts';

/** The config in force: what the files say, with every default filled in. */
export type Config = {
  /** In the order of the file, which decides who keeps a name that two servers want. */
  readonly servers: readonly ServerConfig[];
  readonly naming: Naming;
  /** What the file says of the hub itself; the environment goes before it. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** A secret. */
  readonly token?: string;
  readonly administration?: 'on' | 'off';
};

/** How the names of tools and prompts are made on the endpoint of all servers (spec 5.2). */
export type Naming = {
  readonly separator: '_' | '__' | '.';
  /** Longer public names end in a stable hash. In characters. */
  readonly maxLength: number;
};

export type ServerConfig = {
  readonly name: string;
  /** Tells what its entry launches from what others do, on every machine alike. No secrets. */
  readonly origin?: string | undefined;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  /** Why the entry that the file has now waits for a person; this is then the one before it, or disabled. */
  readonly heldBack?: string | undefined;
  readonly autoStart: boolean;
  /**
   * Permanent: started again whenever it ends. Transient: when it failed, but not when it ended by itself
   * with exit code 0. Temporary: never.
   */
  readonly restart: 'permanent' | 'transient' | 'temporary';
  readonly maxRestarts: number;
  readonly healthCheckIntervalMs: number;
  /** From the start of the process until `initialize` is answered and the lists are read. */
  readonly startTimeoutMs: number;
  /** A call that makes no progress for this long fails. */
  readonly callTimeoutMs: number;
  /** How long a call at a shared server waits for a client that was asked by `input_required`. */
  readonly inputTimeoutMs: number;
  readonly maxLineBytes: number;
  /** Calls that the server works on at once; more wait. */
  readonly maxConcurrentCalls: number;
  /** Calls that wait for their turn; more are refused. */
  readonly maxQueuedCalls: number;
  /** Messages a second that answer no request, such as notifications; the server is read no faster. */
  readonly maxNotifications: number;
  /** Without a call for this long, a shared server is stopped until the next one. Undefined: never. */
  readonly idleStopMs: number | undefined;
  /** One instance for all clients, or one for each client with a session. */
  readonly instance: 'shared' | 'session';
  /** How the hub speaks to it; `auto` is the newest that the server speaks. */
  readonly era: 'auto' | 'legacy' | 'modern';
  /** At most this many instances of sessions at once. */
  readonly maxInstances: number;
  /** An instance of a session that has nothing to do for this long is stopped. */
  readonly instanceIdleMs: number;
  readonly launch: LocalLaunch | RemoteLaunch;
};

export type LocalLaunch = {
  readonly kind: 'local';
  readonly runtime: 'auto' | 'docker' | 'process';
  /** The image to run as it is. Excludes `package`. */
  readonly image: string | undefined;
  /** A package to build an image from, or to run by npx or uvx as a process. */
  readonly package: PackageSpec | undefined;
  /** As written, or a program of `package`; absent where `package` or `image` says all. */
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The line as written, where another launcher than npx and uvx runs the package as a process. */
  readonly written?: { readonly command: string; readonly args: readonly string[] };
  /** Why a line of a launcher became no package, with the remedy. */
  readonly noPackage?: string;
  readonly sandbox: Sandbox;
};

export type PackageSpec = {
  readonly ecosystem: 'npm' | 'pypi';
  /** Name and version as the installer takes them: `@scope/name@1.2.3`, `name==1.2.3`, or a bare name. */
  readonly spec: string;
  /** Packages of the same registry that are installed beside it. */
  readonly with?: readonly string[];
  /** The version of Python, such as `3.12`; absent for that of the base image. */
  readonly python?: string;
};

/** What the container of a server may do. The defaults are the strictest. */
export type Sandbox = {
  readonly network: 'none' | 'bridge';
  readonly mounts: readonly {
    /** An absolute path on the engine's machine. */
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

/** What the environment and `.env` set (spec 1.3). */
export type Settings = {
  readonly host: string;
  readonly port: number;
  /** Bearer token that every request must carry; required on any address but loopback. */
  readonly token: string | undefined;
  /** Off: nobody administers the hub over HTTP, not even with the owner's key. */
  readonly administration: 'on' | 'off';
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /**
   * In a container: the names that its own addresses have on the networks from which it is called. It listens
   * on these and on loopback; none: on `host`.
   */
  readonly networks: readonly string[];
  /** Host names besides localhost by which clients may reach the hub. */
  readonly allowedHosts: readonly string[];
  /** Origins besides the hub's own from which browsers may call it. */
  readonly allowedOrigins: readonly string[];
  /** Set in the hub's own image: the published port, not the listening address, is the boundary. */
  readonly inContainer: boolean;
  readonly dataDir: string;
  readonly serversFile: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Undefined where nobody has chosen: the terminal decides. */
  readonly logFormat: 'json' | 'pretty' | undefined;
  /** Names the hub on everything of its own, instead of the id in its data folder. */
  readonly hubId: string | undefined;
  /** The prefix of container names, volumes and the compose project they are grouped under. */
  readonly hubName: string;
  /** Where the engine answers; undefined for the platform's default. */
  readonly dockerHost: string | undefined;
  /** What a build of a package may use. */
  readonly build: { readonly memoryBytes: number; readonly cpus: number };
  /** Where Ollama answers, undefined for nowhere, and the model of prompts that no rule names one for. */
  readonly ollama: {
    readonly url: string | undefined;
    readonly model: string;
    /** Models that rules name and Ollama lacks are fetched. */
    readonly isPulling: boolean;
  };
  /** With any password in it: never logged. Undefined: what it would hold is kept in memory. */
  readonly redisUrl: string | undefined;
  /** Undefined: vectors are kept in the data folder. */
  readonly qdrantUrl: string | undefined;
  readonly qdrantKey: string | undefined;
  readonly cache: {
    readonly maxEntries: number;
    readonly maxBytes: number;
    /** The cosine, from 0 to 1, above which two prompts are the same. */
    readonly similarityThreshold: number;
  };
  readonly breaker: { readonly failureThreshold: number; readonly recoveryMs: number };
  /** Absent: traces and metrics are sent nowhere. */
  readonly otlp?: Otlp;
  /** Path of the rules by which prompts are improved. */
  readonly rulesFile: string;
  /** What all clients together may take. */
  readonly limits: {
    readonly maxConnections: number;
    /** Of streamable HTTP; a client that opens more loses its own. */
    readonly maxSessionsPerClient: number;
    /** Of request bodies and messages that are not complete. */
    readonly maxUnfinishedBytes: number;
    /** Of answers that clients have not read. */
    readonly maxUnreadBytes: number;
  };
};
