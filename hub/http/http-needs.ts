import type { Agents } from '#agents';
import type { Approvals } from '#approvals';
import type { Audit } from '#audit';
import type { HubAuthorization, NamedClients } from '#access';
import type { ServerCatalog } from '#catalog';
import type { RulesStatus } from '#config';
import type { JsonObject } from '#core';
import type { DashboardNeeds } from '#dashboard';
import type { DefinitionPins } from '#definitions';
import type { Documentation } from '#documentation';
import type { Enhancer } from '#enhance';
import type { Installs, Upgrades } from '#installs';
import type { Jobs } from '#jobs';
import type { Logs } from '#logs';
import type { Fetching, MissingModels, Models } from '#models';
import type { ServerLogins } from '#oauth';
import type { Sharing, SharingStatus } from '#resilience';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { SecretStatus } from '#secrets';
import type { Servers } from '#servers';
import type { TaskPipeline } from '#tasks';
import type { ToolSwitches } from '#tools';
import type { ByteBudget, ClientConnections, Sse, Streamable, WebSockets } from '#transports';
import type { HttpSystem } from './errors.ts';
import type { GuardNeeds } from './guard.ts';
import type { PeersNeeds } from './peers.ts';

/** Reads and reloads the config. */
export type ConfigControl = {
  /**
   * Reads the files and applies the changes. Rejects with HubError, without a change, if the files are invalid.
   * `allow` names servers whose entries wait for confirmation; rejects with HUB_REQUEST_INVALID if one does not wait.
   */
  reload(allow?: readonly string[]): Promise<JsonObject>;
  /** Lists the secrets that are set or used, without their values. */
  secrets(): Promise<readonly SecretStatus[]>;
  /** Returns the state that `/health` shows. `error`: which part of the current files is not applied, and why. */
  status(): { readonly loadedAt: number; readonly error: string | undefined };
};

export type Prompts = {
  readonly enhancer: Enhancer;
  readonly models: Models;
  readonly missing: Pick<MissingModels, 'check'>;
  /** State of the automatic pulls. Absent: missing models are pulled only on request. */
  readonly fetching?: Pick<Fetching, 'status'>;
};

/** State of the prompt enhancer for `/health`. Reading it does not load the enhancer. */
export type PromptHealth = {
  readonly rules: () => RulesStatus;
  /** The enhancer; undefined until its first use. */
  readonly loaded: () => Promise<Prompts> | undefined;
  /** The models, which agents and servers use too. Undefined until their first use. */
  readonly models?: () => Promise<Pick<Prompts, 'models'>> | undefined;
};

type PromptLoader = {
  readonly open: () => Promise<Prompts>;
  readonly health?: PromptHealth;
};

type HttpTransports = {
  readonly streamable: Streamable;
  readonly connections: Pick<ClientConnections, 'size' | 'isDraining'>;
  readonly webSockets: WebSockets;
  readonly sse: Sse;
  /** Budget for the bytes of incomplete bodies and of unread answers. */
  readonly unfinished: ByteBudget;
  readonly unread: ByteBudget;
};

type HubParts = {
  readonly version: string;
  /** The default runtime of servers. */
  readonly engine: {
    /** `process` if no container engine answered. */
    readonly backend: 'docker' | 'process';
    /** Checks the engine. Never rejects. */
    readonly probe: () => Promise<{ readonly healthy: boolean; readonly detail: string }>;
  };
  readonly config: ConfigControl;
  /** State of the sharing of breakers with other hubs. */
  readonly sharing: Pick<Sharing, 'status'>;
  /** State of the sharing of client limits with other hubs; undefined if no client has limits. */
  readonly limits?: () => SharingStatus | undefined;
  /**
   * Counts a request that does what a call does against the limits of its caller. Resolves with the function to call
   * when the request ends. Rejects with HUB_LIMIT_REACHED. Absent: such requests have no limits.
   */
  readonly countRequest?: (principal: Principal) => Promise<() => void>;
  /** Calls that a person has to approve. Absent: the hub keeps no approvals. */
  readonly approvals?: Approvals;
  /** Pinned definitions. Absent: definitions are not pinned. */
  readonly pins?: DefinitionPins;
  /** Logins to remote servers. Absent: the hub logs in to no server. */
  readonly logins?: ServerLogins;
  /** Absent: the hub runs no agents. */
  readonly agents?: Agents;
  /** Absent: the hub writes no documentation of repositories. */
  readonly documentation?: Documentation;
  /** Absent: the hub runs no tasks. */
  readonly tasks?: TaskPipeline;
  /** Switches for single tools. Absent: tools are switched only in the config file. */
  readonly tools?: ToolSwitches;
  /** Registry of MCP servers. Absent: the hub uses no registry. */
  readonly catalog?: ServerCatalog;
  /** Version changes of server packages. Absent: versions change only in the config file. */
  readonly upgrades?: Pick<Upgrades, 'outdated' | 'upgrade' | 'rollback' | 'earlier' | 'prune'>;
  readonly residentBytes: () => number;
};

/** Parts of the hub that HTTP uses. */
export type HttpNeeds = {
  readonly servers: Servers;
  readonly router: Router;
  readonly transports: HttpTransports;
  readonly hub: HubParts;
  /**
   * Logins, clients and the generated token, if there are any. Without `peers`, the users of connections are not
   * checked.
   */
  readonly access?: Partial<Omit<GuardNeeds, 'clients'>> & {
    readonly clients?: NamedClients;
    /** Logins of programs to the hub. Absent: no program can log in. */
    readonly authorization?: HubAuthorization;
    readonly peers?: PeersNeeds;
  };
  /** Installs and removes servers. Absent: only the config file adds and removes servers. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review' | 'trial'>;
  readonly jobs: Jobs;
  /** The prompt enhancer. Absent: the hub improves no prompts. */
  readonly prompts?: PromptLoader;
  /**
   * Without `audit`, nothing is audited. Without `logs`, only the newest lines of each server are stored, in memory.
   */
  readonly telemetry: Omit<DashboardNeeds['telemetry'], 'audit'> & {
    readonly audit?: Audit;
    readonly logs?: Logs;
  };
  readonly system: HttpSystem;
};
