import type { IncomingHttpHeaders } from 'node:http';
import type { HubAuthorization, NamedClient } from '#access';
import type { Activity } from '#activity';
import type { Agents } from '#agents';
import type { Approvals } from '#approvals';
import type { Audit } from '#audit';
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
import type { SecretStatus } from '#secrets';
import type { Servers } from '#servers';
import type { TaskPipeline } from '#tasks';
import type { ToolSwitches } from '#tools';
import type { Metrics, Redaction } from '#telemetry';
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
  /** Installs servers. Absent if this hub does not change its config file. */
  readonly installs?: DashboardInstalls;
  /** Improves prompts. Absent if the hub does not. */
  readonly prompts?: DashboardPrompts;
  readonly hub: DashboardHub;
  readonly login: Logins;
  readonly system: { readonly clock: Clock; readonly log: Log; readonly newId: () => string };
};

type DashboardTelemetry = {
  readonly activity: Activity;
  readonly metrics: Metrics;
  /** Removes secrets from a server's text. */
  readonly redact: Redaction['text'];
  /** Stored logs. If absent, only the newest lines of each server are available, from memory. */
  readonly logs?: Pick<Logs, 'read' | 'runs'>;
  /** The audit log. Absent if nothing is audited. */
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

/** Part of the audit log that the dashboard uses. */
export type DashboardAudit = Pick<Audit, 'list' | 'status'>;

/** Clients, secrets and tokens, for the access pages of the dashboard. */
export type DashboardAccess = {
  readonly needsToken: () => boolean;
  readonly clients: () => readonly NamedClient[];
  readonly secrets: () => Promise<readonly SecretStatus[]>;
  /** Revokes the token of a client. Rejects with HubError. */
  readonly revoke: (name: string) => Promise<void>;
};

export type DashboardUpgrades = Pick<Upgrades, 'outdated' | 'upgrade' | 'rollback' | 'earlier'>;

type DashboardHub = {
  readonly version: string;
  readonly backend: 'docker' | 'process';
  readonly health: () => Promise<{ readonly answer: HealthReport }>;
  readonly usages: ContainerUsages;
  readonly access: DashboardAccess;
  /** Calls that a person has to approve. Absent if the hub stores none. */
  readonly approvals?: Approvals;
  /** Pinned definitions of tools. Absent if definitions are not pinned. */
  readonly pins?: DefinitionPins;
  /** Logins of programs to the hub. Absent if there are none. */
  readonly authorization?: ProgramLogins;
  /** Logins of the hub to remote servers. Absent if there are none. */
  readonly logins?: ServerLogins;
  /** Agents. Absent if the hub has none. */
  readonly agents?: Agents;
  /** Tasks. Absent if the hub runs none. */
  readonly tasks?: TaskPipeline;
  /** Registry of MCP servers. Absent if the hub uses none. */
  readonly catalog?: ServerCatalog;
  /** Upgrades of servers. If absent, versions are only changed in the config file. */
  readonly upgrades?: DashboardUpgrades;
  /** Switches of tools and their token cost. If absent, tools are only switched in the config file. */
  readonly tools?: ToolSwitches;
};

/** Logins of programs to the hub. `isOffered` is true if they can log in now. */
type ProgramLogins = Pick<
  HubAuthorization,
  'read' | 'isAnswered' | 'ask' | 'pending' | 'suggestName' | 'whyNot' | 'allow' | 'deny'
> & { readonly isOffered: () => boolean };

/** Fields of the answer of `/health` that the overview shows. */
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

/** Result of a login: a cookie, a failure, or a block after too many attempts from the address. */
export type LoginResult =
  | { readonly kind: 'in'; readonly cookie: string }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'blocked'; readonly waitMs: number };

/** Logins to the dashboard: with a link as the owner, or with the hub's token for reading. */
export interface Logins {
  enterByLink(code: string, address: string): LoginResult;
  enterByToken(token: string, address: string): LoginResult;
}

/** A request for a page or an action that the visitor may use. */
export type DashboardRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  /** URL of the hub for clients on the visitor's machine: `http://localhost:9090/mcp`. */
  readonly endpoint: string;
  /** True for a request of htmx, which expects a part of a page. */
  readonly isHtmx: boolean;
  readonly param: (name: string) => string;
  /** Returns a query parameter; empty if it is missing or duplicated. */
  readonly query: (name: string) => string;
  /** Fields of the form in the body; empty without a form. */
  readonly form: URLSearchParams;
  readonly visitor: Visitor;
  /** Returns the principal of the request. Throws TypeError if the guard did not admit the request to its route. */
  readonly principal: () => Principal;
  /** Aborts if the client disconnects before the answer is sent. */
  readonly signal: AbortSignal;
};

export type DashboardAnswer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Value of the visitor's new login cookie; an empty value removes the cookie. */
  readonly cookie?: string;
} & (
  | { readonly page: Page }
  /** A part of a page, for htmx. */
  | { readonly part: Html }
  /** An error page; for htmx, a notice. */
  | { readonly failure: FailedAction; readonly status: number }
  | { readonly redirect: string }
  | { readonly download: Download }
  | { readonly asset: { readonly type: string; readonly body: Buffer } }
);

/** A file that the browser downloads. */
export type Download = {
  readonly name: string;
  /** Content of the file, disposed after it is sent or the client has disconnected. */
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
