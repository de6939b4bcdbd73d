import type { IncomingHttpHeaders } from 'node:http';
import type { HubAuthorization } from '#access';
import type { Activity } from '#activity';
import type { Agents } from '#agents';
import type { Approvals } from '#approvals';
import type { ServerCatalog } from '#catalog';
import type { Clock, Log } from '#core';
import type { DefinitionPins } from '#definitions';
import type { Enhancer } from '#enhance';
import type { InstallJobs, InstallRequest, Installs, Upgrades } from '#installs';
import type { Jobs } from '#jobs';
import type { Logs } from '#logs';
import type { ServerLogins } from '#oauth';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import type { TaskPipeline } from '#tasks';
import type { ToolSwitches } from '#tools';
import type { Metrics, Redaction } from '#telemetry';
import type { DashboardAccess, DashboardAudit } from './access-types.ts';
import type { createChanges } from './changes.ts';
import type { Html } from './html.ts';
import type { Page, Visitor } from './layout.ts';
import type { FailedAction } from './pieces.ts';
import type { ContainerUsages, createServerViews } from './server-view.ts';
import type { createToolCosts } from './tool-costs.ts';

export type DashboardNeeds = {
  readonly servers: Servers;
  readonly router: Pick<Router, 'open' | 'describeTool' | 'policy' | 'sessions'>;
  readonly telemetry: DashboardTelemetry;
  readonly jobs: Jobs;
  /** Absent: this hub does not change its config file. */
  readonly installs?: DashboardInstalls;
  /** Absent: the hub improves no prompts. */
  readonly prompts?: DashboardPrompts;
  readonly hub: DashboardHub;
  readonly login: Logins;
  readonly system: { readonly clock: Clock; readonly log: Log; readonly newId: () => string };
};

type DashboardTelemetry = {
  readonly activity: Activity;
  readonly metrics: Metrics;
  /** Removes secrets from a text of a server. */
  readonly redact: Redaction['text'];
  /** Absent: only the newest lines of each server are kept, in memory. */
  readonly logs?: Pick<Logs, 'read' | 'runs'>;
  /** Absent: nothing is audited. */
  readonly audit?: DashboardAudit;
};

type DashboardInstalls = Pick<Installs, 'remove' | 'review'> &
  Pick<InstallJobs, 'begin'> & {
    /** Parses the body of `POST /servers/install`. */
    readonly read: (body: unknown) => Promise<InstallRequest>;
  };

type DashboardPrompts = {
  readonly open: () => Promise<{ readonly enhancer: Enhancer }>;
  readonly health?: {
    readonly loaded: () => Promise<{ readonly enhancer: Enhancer }> | undefined;
  };
};

export type DashboardUpgrades = Pick<Upgrades, 'outdated' | 'upgrade' | 'rollback' | 'earlier'>;

type DashboardHub = {
  readonly version: string;
  readonly backend: 'docker' | 'process';
  readonly health: () => Promise<{ readonly answer: HealthReport }>;
  readonly usages: ContainerUsages;
  readonly access: DashboardAccess;
  /** Calls that a person has to approve. Absent: the hub keeps none. */
  readonly approvals?: Approvals;
  /** Absent: definitions are not pinned. */
  readonly pins?: DefinitionPins;
  /** Absent: no program logs in to the hub. */
  readonly authorization?: ProgramLogins;
  /** Absent: the hub logs in to no server. */
  readonly logins?: ServerLogins;
  /** Absent: the hub has no agents. */
  readonly agents?: Agents;
  /** Absent: the hub runs no tasks. */
  readonly tasks?: TaskPipeline;
  /** Absent: the hub asks no registry of MCP servers. */
  readonly catalog?: ServerCatalog;
  /** Absent: versions are changed in the config file only. */
  readonly upgrades?: DashboardUpgrades;
  /** Switches of tools and their token cost. Absent: tools are switched in the config file only. */
  readonly tools?: ToolSwitches;
};

/** Logins of programs to the hub. `isOffered`: they can log in now. */
type ProgramLogins = Pick<
  HubAuthorization,
  'read' | 'ask' | 'pending' | 'suggestName' | 'whyNot' | 'allow' | 'deny'
> & { readonly isOffered: () => boolean };

/** The answer of `/health`, as far as the overview shows it. */
export type HealthReport = {
  readonly status: 'ok' | 'degraded' | 'down';
  readonly uptime_seconds: number;
  readonly sessions: number;
  readonly parts: Readonly<Record<string, PartHealth>>;
};

export type PartHealth = {
  readonly state: string;
  readonly backend: string;
  readonly latency_ms?: number | null;
  readonly detail?: string;
};

/** The result of a login: a cookie, a failure, or too many attempts of the address. */
export type LoginResult =
  | { readonly kind: 'in'; readonly cookie: string }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'blocked'; readonly waitMs: number };

/** Logins to the dashboard: with a link as the owner, with the hub's token for reading. */
export interface Logins {
  enterByLink(code: string, address: string): LoginResult;
  enterByToken(token: string, address: string): LoginResult;
}

/** A request for a page or an action, of a visitor who may make it. */
export type DashboardRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  /** URL of the hub for clients on the visitor's machine: `http://localhost:9090/mcp`. */
  readonly endpoint: string;
  /** True if htmx asks, which expects a part of a page. */
  readonly isHtmx: boolean;
  readonly param: (name: string) => string;
  /** A query parameter; empty if it is missing or duplicated. */
  readonly query: (name: string) => string;
  /** Empty without a form. */
  readonly form: URLSearchParams;
  readonly visitor: Visitor;
  /** Throws TypeError if the guard did not admit the request to its route. */
  readonly principal: () => Principal;
  /** Aborted if the client disconnects before the answer is sent. */
  readonly signal: AbortSignal;
};

export type DashboardAnswer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The value of the visitor's new login cookie; empty removes it. */
  readonly cookie?: string;
} & (
  | { readonly page: Page }
  /** A part of a page, for htmx. */
  | { readonly part: Html }
  /** An error page, or a notice for htmx. */
  | { readonly failure: FailedAction; readonly status: number }
  | { readonly redirect: string }
  | { readonly download: Download }
  | { readonly asset: { readonly type: string; readonly body: Buffer } }
);

/** A file that the browser stores. */
export type Download = {
  readonly name: string;
  /** Disposed when it was sent, or when the client has disconnected. */
  readonly content: Awaited<ReturnType<Agents['files']['open']>>;
};

export type Handlers = Readonly<
  Record<string, (request: DashboardRequest) => Promise<DashboardAnswer>>
>;

export type PageNeeds = Omit<DashboardNeeds, 'login'> & {
  readonly changes: ReturnType<typeof createChanges>;
  readonly views: ReturnType<typeof createServerViews> & {
    readonly costs: ReturnType<typeof createToolCosts>;
  };
};
