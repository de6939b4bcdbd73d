import type { NamedClients } from '#access';
import type { Clients, HubAddress } from '#clients';
import type { Config, ConfigEditor, ServerConfig } from '#config';
import type { OwnCertificate } from '#connector';
import type { JsonObject } from '#core';
import type { Secrets } from '#secrets';
import type { KnownHub } from '#store';
import type { OwnerAccess } from './owner.ts';
import type { ServiceProgram } from './service-files.ts';
import type { OpenScreen } from './screen/open-screen.ts';
import type { Ask } from './terminal.ts';

export type ServeOptions = {
  /** Overrides MCP_SERVERS_CONFIG. */
  readonly configFile?: string;
  /** Overrides ROUTER_PORT. 0 chooses a free port. */
  readonly port?: number;
  /** Only servers with at least one of these tags. */
  readonly tags?: readonly string[];
  /** Serves a client on stdin and stdout. The hub then listens only if a port is given as well. */
  readonly stdio?: boolean;
  /** The profile of that client. */
  readonly profile?: string;
  /** Runs no servers and logs nothing: for a command that tries servers out while no hub runs. */
  readonly isTrial?: boolean;
};

/** A running hub. */
export type StartedHub = {
  /** Such as `http://127.0.0.1:9090`; undefined if the hub does not listen. */
  readonly address: string | undefined;
  /** Where servers run, and the config file, for people. */
  readonly about?: { readonly sandbox: string; readonly config: string };
  /** Creates a one-time login link to the dashboard; undefined if administration over HTTP is off. */
  readonly loginLink?: (() => string) | undefined;
  /** True if people read the hub's output as a container log. */
  readonly inContainer?: boolean;
  /** Resolves when the client on stdin and stdout disconnects; undefined without such a client. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

/** A config and its file. */
export type LoadedConfig = {
  readonly file: string;
  readonly config: Config;
  /** The missing file, if the config shipped with AgentHub is used instead of it. */
  readonly insteadOf?: string;
};

/** The objects that one hub has on the engine. */
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
  /** HUB_NAME of the hub that made it, if its label says so: the prefix of `name`. */
  readonly hubName?: string | undefined;
};

/** Ollama and the models of the rules that it does not have. */
export type OllamaReport = {
  /** As in `/health`: `up`, `degraded`, `down`, `off` or `unknown`. */
  readonly state: string;
  readonly detail: string;
  readonly missing: readonly {
    readonly model: string;
    /** `rule`, `embedding`, `judge` or `fallback`. */
    readonly use: string;
    readonly message: string;
    /** Whether the hub pulls it, or will. */
    readonly isPulled: boolean;
  }[];
};

/** What `doctor` and `check --live` examine. */
export type Installation = {
  /** Id of the hub with this data folder; undefined before its first start. */
  readonly hubId: string | undefined;
  readonly dataDir: string;
  /** HUB_NAME here. That of the hub may be another. */
  readonly hubName: string;
  /** Name and version of the engine. Rejects with HubError. */
  engine(): Promise<string>;
  holdings(): Promise<readonly HubObjects[]>;
  /** The hubs of this user whose data folders exist, running or not. */
  knownHubs(): Promise<readonly Pick<KnownHub, 'hubId' | 'dataDir' | 'isRunning'>[]>;
  /** Ids of hubs that run in a container of a compose project on the engine. */
  composeHubs(): Promise<readonly string[]>;
  /** Removes containers and networks of a hub. Returns a sentence for each that could not be removed. */
  remove(hubId: string): Promise<readonly string[]>;
  /** Removes volumes of a hub with their data. Returns a sentence for each that could not be removed. */
  removeVolumes(hubId: string, names: readonly string[]): Promise<readonly string[]>;
  /** Asks Ollama for the models of the rules, without a running hub. Throws HubError for invalid rules. */
  ollama(signal: AbortSignal): Promise<OllamaReport>;
  /** Names in the config of the volumes that a server of this hub has or will have. */
  volumesOf(config: ServerConfig): readonly string[];
};

/** Address of a running hub, and credentials for it. */
export type HubPlace = {
  /** Such as `http://localhost:9090`. May contain a path, if the hub is behind a proxy. */
  readonly url: string;
  readonly token: string | undefined;
  /** Absent: this user presents no certificate. */
  readonly certificate?: OwnCertificate | undefined;
  /**
   * Returns the key that administers this hub. Called when the hub refuses a request without it. Rejects with
   * HubError if this user does not have the key. Undefined: no administration.
   */
  readonly ownerAccess?: (signal: AbortSignal) => Promise<OwnerAccess>;
  /**
   * Returns the key without asking any program, if a hub of this user is known to run at the address. Requests that
   * administer have it from the start, because each refused one is a line in the hub's log and audit log.
   */
  readonly runningAccess?: () => Promise<OwnerAccess | undefined>;
};

/** What commands run until they are stopped. All throw HubError. */
type Services = {
  /** Resolves when the hub runs. Cleans up if the hub cannot start. */
  readonly startApp: (
    options: ServeOptions,
    signal: AbortSignal,
    /** Called at most once, if the settings leave the format of the log open. Absent: there is no terminal. */
    openScreen?: OpenScreen,
  ) => Promise<StartedHub>;
  /** Resolves when the broker listens. */
  readonly startBroker: (signal: AbortSignal) => Promise<{ stop(): Promise<void> }>;
  /** Serves the client on stdin and stdout until it disconnects or the signal aborts. */
  readonly connectStdio: (
    /** `server`: a server, or a profile after "@". Default: all servers of the hub of the settings. */
    options: { readonly url?: string; readonly server?: string },
    signal: AbortSignal,
  ) => Promise<void>;
};

/** The clients in a data folder, which is locked until this is disposed. */
export type StoredClients = AsyncDisposable &
  Pick<NamedClients, 'isRequired' | 'find' | 'list' | 'create' | 'revoke'>;

/** How this program runs, and where. */
export type DescribedProgram = ServiceProgram & {
  readonly platform: NodeJS.Platform;
  /** The home folder. */
  readonly home: string;
  readonly version: string;
};

/** The files of a hub that need not run. All throw HubError. */
type HubFiles = {
  /** Reads settings and config without starting anything. */
  readonly loadConfig: (configFile: string | undefined) => Promise<LoadedConfig>;
  /** Path of the config file from the settings. The file may not exist. */
  readonly findConfigFile: () => Promise<string>;
  /**
   * Writes the config file of a first start, with the servers that come with AgentHub. Resolves with its path, or with
   * undefined if there is a config file.
   */
  readonly createConfig: () => Promise<string | undefined>;
  /** Reads the entry of a recipe that comes with AgentHub. */
  readonly readRecipe: (name: string) => Promise<JsonObject>;
  /** Path of the file with variables of the hub, as messages show it. The file may not exist. */
  readonly findDotenv: () => Promise<string>;
  /** How the hub of this folder is started. */
  readonly describeProgram: () => Promise<DescribedProgram>;
  /** Creates an editor for config files, used if no hub runs that could make the change. */
  readonly editConfig: () => Promise<ConfigEditor>;
  /** Opens the tokens of clients in the data folder, used if no hub runs that could change them. Changes are audited. */
  readonly openTokens: (warn: (text: string) => void) => Promise<StoredClients>;
  /** The data folders that a hub of this user may have. */
  readonly findDataFolders: () => Promise<readonly string[]>;
  /** The secrets of the data folder of the settings. */
  readonly openSecrets: () => Promise<Secrets>;
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
  /** Throws HubError. */
  readonly examine: () => Promise<Installation>;
  /** The hub at this URL, or the hub of the settings. Throws HubError for invalid settings. */
  readonly findHub: (url: string | undefined) => Promise<HubPlace>;
  /** The owner's key that a hub of this user stores, even if it does not run; undefined if there is none. */
  readonly findOwnerKey: (signal: AbortSignal) => Promise<string | undefined>;
  /** Opens a URL in the user's browser. Resolves with false if there is none. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  readonly openClients: () => Promise<Clients>;
  /** The command with which a client starts `agenthub connect-stdio`. */
  readonly findBridge: () => Promise<HubAddress['bridge']>;
  /** Undefined if there is no terminal. */
  readonly ask: Ask | undefined;
};
