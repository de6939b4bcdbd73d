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
import type { Router } from '#routing';
import type { SecretStatus } from '#secrets';
import type { Servers } from '#servers';
import type { TaskPipeline } from '#tasks';
import type { ToolSwitches } from '#tools';
import type { ByteBudget, ClientConnections, Sse, Streamable, WebSockets } from '#transports';
import type { HttpSystem } from './errors.ts';
import type { GuardNeeds } from './guard.ts';
import type { PeersNeeds } from './peers.ts';

/** The current config, and its reload. */
export type ConfigControl = {
  /**
   * Reads the files and applies the changes. Rejects with HubError, without a change, if the files are invalid.
   * `allow` names servers whose entries wait for confirmation; rejects with HUB_REQUEST_INVALID if one does not wait.
   */
  reload(allow?: readonly string[]): Promise<JsonObject>;
  /** The secrets that are set or used, without their values. */
  secrets(): Promise<readonly SecretStatus[]>;
  /** The state that `/health` shows. `error` says why the current files are not applied. */
  status(): { readonly loadedAt: number; readonly error: string | undefined };
};

export type Prompts = {
  readonly enhancer: Enhancer;
  readonly models: Models;
  readonly missing: Pick<MissingModels, 'check'>;
  /** Absent: missing models are pulled on request only. */
  readonly fetching?: Pick<Fetching, 'status'>;
};

/** The state of the prompt enhancer for `/health`, which does not load it. */
export type PromptHealth = {
  readonly rules: () => RulesStatus;
  /** Undefined until its first use. */
  readonly loaded: () => Promise<Prompts> | undefined;
  /** The models, which agents and servers use as well. Undefined until their first use. */
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
  /** The bytes of incomplete bodies and of unread answers. */
  readonly unfinished: ByteBudget;
  readonly unread: ByteBudget;
};

type HubParts = {
  readonly version: string;
  /** The default runtime of servers. */
  readonly engine: {
    /** Containers, or processes if no engine answered. */
    readonly backend: 'docker' | 'process';
    /** Asks the engine. Never rejects. */
    readonly probe: () => Promise<{ readonly healthy: boolean; readonly detail: string }>;
  };
  readonly config: ConfigControl;
  /** Whether breakers are shared with other hubs. */
  readonly sharing: Pick<Sharing, 'status'>;
  /** Whether the limits of clients are shared with other hubs; undefined if no client has limits. */
  readonly limits?: () => SharingStatus | undefined;
  /** Calls that a person has to approve. Absent: the hub keeps none. */
  readonly approvals?: Approvals;
  /** Absent: definitions are not pinned. */
  readonly pins?: DefinitionPins;
  /** Absent: the hub logs in to no server. */
  readonly logins?: ServerLogins;
  /** Absent: the hub has no agents. */
  readonly agents?: Agents;
  /** Absent: the hub documents no repositories. */
  readonly documentation?: Documentation;
  /** Absent: the hub runs no tasks. */
  readonly tasks?: TaskPipeline;
  /** Absent: tools are switched in the config file only. */
  readonly tools?: ToolSwitches;
  /** Absent: the hub asks no registry of MCP servers. */
  readonly catalog?: ServerCatalog;
  /** Absent: versions are changed in the config file only. */
  readonly upgrades?: Pick<Upgrades, 'outdated' | 'upgrade' | 'rollback' | 'earlier' | 'prune'>;
  readonly residentBytes: () => number;
};

/** The other rooms that HTTP uses. */
export type HttpNeeds = {
  readonly servers: Servers;
  readonly router: Router;
  readonly transports: HttpTransports;
  readonly hub: HubParts;
  /** Logins, clients and the made token, if there are any; without `peers`, the users of connections are not checked. */
  readonly access?: Partial<Omit<GuardNeeds, 'clients'>> & {
    readonly clients?: NamedClients;
    /** Absent: no program logs in to the hub. */
    readonly authorization?: HubAuthorization;
    readonly peers?: PeersNeeds;
  };
  /** Absent: servers can be installed and removed in the config file only. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review' | 'trial'>;
  readonly jobs: Jobs;
  /** Absent: the hub improves no prompts. */
  readonly prompts?: PromptLoader;
  /** Without `audit`, nothing is audited. Without `logs`, only the newest lines of each server are kept, in memory. */
  readonly telemetry: Omit<DashboardNeeds['telemetry'], 'audit'> & {
    readonly audit?: Audit;
    readonly logs?: Logs;
  };
  readonly system: HttpSystem;
};
