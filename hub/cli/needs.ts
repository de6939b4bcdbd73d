import type { NamedClients } from '#access';
import type { Clients, HubAddress } from '#clients';
import type { Config, ConfigEditor, ServerConfig } from '#config';
import type { OwnCertificate } from '#connector';
import type { JsonObject } from '#core';
import type { LeftBehind } from '#installs';
import type { Secrets } from '#secrets';
import type { KnownHub } from '#store';
import type { OwnerAccess } from './owner.ts';
import type { ServiceProgram } from './service-files.ts';
import type { OpenScreen } from './screen/open-screen.ts';
import type { Ask } from './terminal.ts';

export type ServeOptions = {
  /** Path of the config file, overriding MCP_SERVERS_CONFIG. */
  readonly configFile?: string;
  /** Port of the hub, overriding ROUTER_PORT. 0 chooses a free port. */
  readonly port?: number;
  /** Tags: only servers with at least one of them are run. */
  readonly tags?: readonly string[];
  /** True to serve a client on stdin and stdout. The hub then listens only if a port is given as well. */
  readonly stdio?: boolean;
  /** Profile of the client on stdin and stdout. */
  readonly profile?: string;
  /** True to run no servers and log nothing, for a command that starts servers as a test while no hub runs. */
  readonly isTrial?: boolean;
};

export type StartedHub = {
  /** URL of the hub, such as `http://127.0.0.1:9090`; undefined if the hub does not listen. */
  readonly address: string | undefined;
  /** Kind of sandbox and path of the config file, to show to people. */
  readonly about?: { readonly sandbox: string; readonly config: string };
  /** Creates a one-time login link to the dashboard; undefined if administration over HTTP is off. */
  readonly loginLink?: (() => string) | undefined;
  /** True if the hub runs in a container, so that people read its output as a container log. */
  readonly inContainer?: boolean;
  /** Resolves when the client on stdin and stdout disconnects; undefined without such a client. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

export type LoadedConfig = {
  readonly file: string;
  readonly config: Config;
  /** Path of the missing config file, if the config shipped with AgentHub is used instead. */
  readonly insteadOf?: string;
};

/** Containers, networks and volumes of one hub on the engine. */
export type HubObjects = {
  readonly hubId: string;
  readonly containers: readonly {
    readonly name: string;
    readonly server: string;
    readonly isRunning: boolean;
  }[];
  readonly networks: readonly { readonly name: string }[];
  readonly volumes: readonly VolumeOnEngine[];
};

type VolumeOnEngine = {
  readonly name: string;
  /** HUB_NAME of the hub that created the volume, which is the prefix of `name`; undefined without that label. */
  readonly hubName?: string | undefined;
};

/** State of Ollama, and the models that the rules need and Ollama lacks. */
export type OllamaReport = {
  /** State as in `/health`: `up`, `degraded`, `down`, `off` or `unknown`. */
  readonly state: string;
  readonly detail: string;
  readonly missing: readonly {
    readonly model: string;
    /** Use of the model: `rule`, `embedding`, `judge` or `fallback`. */
    readonly use: string;
    readonly message: string;
    /** True if the hub pulls the model, now or later. */
    readonly isPulled: boolean;
  }[];
};

/** The installation that `doctor` and `check --live` examine. */
export type Installation = {
  /** Id of the hub with this data folder; undefined before the hub's first start. */
  readonly hubId: string | undefined;
  readonly dataDir: string;
  /** HUB_NAME in this environment, which may differ from that of the hub. */
  readonly hubName: string;
  /** Returns name and version of the engine. Rejects with HubError. */
  engine(): Promise<string>;
  /** Returns a sentence about limits of servers that the engine ignores; undefined if it keeps all. Rejects with HubError. */
  ignoredLimits(): Promise<string | undefined>;
  holdings(): Promise<readonly HubObjects[]>;
  /** Returns the hubs of this user whose data folders exist, running or not. */
  knownHubs(): Promise<readonly Pick<KnownHub, 'hubId' | 'dataDir' | 'isRunning'>[]>;
  /** Returns the ids of hubs that run in a container of a compose project on the engine. */
  composeHubs(): Promise<readonly string[]>;
  /** Removes containers and networks of a hub. Returns a sentence for each one that could not be removed. */
  remove(hubId: string): Promise<readonly string[]>;
  /** Removes volumes of a hub with their data. Returns a sentence for each one that could not be removed. */
  removeVolumes(hubId: string, names: readonly string[]): Promise<readonly string[]>;
  /** Asks Ollama for the models of the rules, without a running hub. Throws HubError for invalid rules. */
  ollama(signal: AbortSignal): Promise<OllamaReport>;
  /** Returns the names, as in the config, of the volumes that a server of this hub has or will have. */
  volumesOf(config: ServerConfig): readonly string[];
};

/** Address of a running hub, and credentials for it. */
export type HubPlace = {
  /** URL such as `http://localhost:9090`. May contain a path, if the hub is behind a proxy. */
  readonly url: string;
  readonly token: string | undefined;
  /** Client certificate of this user, if there is one. */
  readonly certificate?: OwnCertificate | undefined;
  /**
   * Returns the owner's key, which administers this hub. Called when the hub refuses a request without the key. Rejects
   * with HubError if this user does not have the key. Undefined if the hub cannot be administered.
   */
  readonly ownerAccess?: (signal: AbortSignal) => Promise<OwnerAccess>;
  /**
   * Returns the owner's key by files alone, if a hub of this user is known to run at the address. Administrative
   * requests then use it from the start, because each refused request adds a line to the hub's log and audit log.
   */
  readonly runningAccess?: () => Promise<OwnerAccess | undefined>;
};

/** Services that commands start, which run until they are stopped. All functions reject with HubError. */
type Services = {
  /** Starts a hub. Resolves when it runs; cleans up if it cannot start. */
  readonly startApp: (
    options: ServeOptions,
    signal: AbortSignal,
    /** Opens the screen. Called at most once, if the settings do not set the log format. Absent without a terminal. */
    openScreen?: OpenScreen,
  ) => Promise<StartedHub>;
  /** Starts the broker. Resolves when it listens. */
  readonly startBroker: (signal: AbortSignal) => Promise<{ stop(): Promise<void> }>;
  /** Serves the client on stdin and stdout until it disconnects or the signal aborts. */
  readonly connectStdio: (
    /** `server` is a server, or a profile after "@". By default, all servers of the hub in the settings. */
    options: { readonly url?: string; readonly server?: string },
    signal: AbortSignal,
  ) => Promise<void>;
};

/** Clients in a data folder, which stays locked until they are disposed. */
export type StoredClients = AsyncDisposable &
  Pick<NamedClients, 'isRequired' | 'find' | 'list' | 'create' | 'revoke'>;

/** How and where this program runs. */
export type DescribedProgram = ServiceProgram & {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly version: string;
};

/** Files of a hub, which need not run. All functions reject with HubError. */
type HubFiles = {
  /** Reads settings and config without starting anything. */
  readonly loadConfig: (configFile: string | undefined) => Promise<LoadedConfig>;
  /**
   * Checks the data folder and the files of TLS. Resolves with warnings, such as of a certificate that expires soon.
   * Rejects with HubError if a hub would not start with them.
   */
  readonly checkPlaces: () => Promise<readonly string[]>;
  /** Returns why the lock file of the config cannot be used; undefined if it can, or does not exist. */
  readonly findLockFault: (configFile: string | undefined) => Promise<string | undefined>;
  /** Returns the names of the clients for which the hub made a token. Never rejects. */
  readonly readTokenNames: () => Promise<readonly string[]>;
  /** Returns the path of the config file from the settings. The file may not exist. */
  readonly findConfigFile: () => Promise<string>;
  /**
   * Writes the default config file, with the servers that come with AgentHub. Resolves with its path, or with undefined
   * if a config file exists.
   */
  readonly createConfig: () => Promise<string | undefined>;
  /** Reads the entry of a recipe that comes with AgentHub. */
  readonly readRecipe: (name: string) => Promise<JsonObject>;
  /** Returns the path of the hub's `.env` file as messages show it. The file may not exist. */
  readonly findDotenv: () => Promise<string>;
  /** Returns how the hub of this folder is started. */
  readonly describeProgram: () => Promise<DescribedProgram>;
  /** Creates an editor for config files, used if no hub runs that could change them. */
  readonly editConfig: () => Promise<ConfigEditor>;
  /** Opens the tokens of clients in the data folder, used if no hub runs that could change them. Audits changes. */
  readonly openTokens: (warn: (text: string) => void) => Promise<StoredClients>;
  readonly findDataFolders: () => Promise<readonly string[]>;
  /** Opens the secrets in the data folder of the settings. */
  readonly openSecrets: () => Promise<Secrets>;
  /** Deletes the login to a remote server without revoking it. Resolves with false if none is stored. */
  readonly removeStoredLogin: (server: string) => Promise<boolean>;
  /** Returns the stored secrets that nothing uses once this server is removed. Never rejects. */
  readonly secretsLeftBy: (server: string, config: Config) => Promise<readonly LeftBehind[]>;
  /** Adds a change of secrets to the audit log in the data folder, used if no hub runs. */
  readonly recordChange: (
    change: { readonly action: 'secret_set' | 'secret_removed'; readonly target: string },
    warn: (text: string) => void,
  ) => Promise<void>;
};

/** Everything that the commands need from the app. */
export type CliNeeds = {
  readonly version: string;
  readonly services: Services;
  readonly files: HubFiles;
  /** Examines the installation. Rejects with HubError. */
  readonly examine: () => Promise<Installation>;
  /** Returns the hub at this URL, or the hub of the settings. Rejects with HubError for invalid settings. */
  readonly findHub: (url: string | undefined) => Promise<HubPlace>;
  /**
   * Returns the owner's key that a hub of this user stores, even if the hub does not run; undefined if there is none.
   */
  readonly findOwnerKey: (signal: AbortSignal) => Promise<string | undefined>;
  /** Opens a URL in the user's browser. Resolves with false if there is no browser. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  readonly openClients: () => Promise<Clients>;
  /** Returns the command that starts this program in a client, without `connect-stdio` and its options. */
  readonly findBridge: () => Promise<HubAddress['bridge']>;
  /** Asks the user a question; undefined if there is no terminal. */
  readonly ask: Ask | undefined;
};
