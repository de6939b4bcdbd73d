import type { IncomingHttpHeaders } from 'node:http';
import type { Activity } from '#activity';
import type { Clock, Log } from '#core';
import type { Enhancer } from '#enhance';
import type { InstallJobs, InstallRequest, Installs } from '#installs';
import type { Jobs } from '#jobs';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import type { Metrics, Redaction } from '#telemetry';
import type { Asset } from './assets.ts';
import type { Changes } from './changes.ts';
import type { Html } from './html.ts';
import type { Page, Visitor } from './layout.ts';
import type { Failure } from './pieces.ts';
import type { ServerViews } from './server-view.ts';
import type { ContainerUsages, UsageViews } from './usage.ts';

export type DashboardNeeds = {
  readonly servers: Servers;
  readonly router: Pick<Router, 'openSessionless' | 'sessions'>;
  readonly telemetry: {
    readonly activity: Pick<Activity, 'list' | 'find' | 'changed'>;
    readonly metrics: Pick<Metrics, 'snapshot'>;
    readonly redact: Redaction['text'];
  };
  readonly jobs: Jobs;
  /** Absent: this hub does not change its config file. `read` parses the body of `POST /servers/install`. */
  readonly installs?: Pick<Installs, 'remove' | 'review'> &
    Pick<InstallJobs, 'begin'> & { readonly read: (body: unknown) => Promise<InstallRequest> };
  /** Absent: the hub improves no prompts. */
  readonly prompts?: {
    readonly open: () => Promise<PromptEnhancer>;
    readonly health?: { readonly loaded: () => Promise<PromptEnhancer> | undefined };
  };
  readonly hub: {
    readonly version: string;
    readonly backend: 'docker' | 'process';
    readonly health: () => Promise<{ readonly answer: HealthReport }>;
    readonly usages: ContainerUsages;
  };
  readonly login: Logins;
  readonly system: { readonly clock: Clock; readonly log: Log };
};

type PromptEnhancer = { readonly enhancer: Enhancer };

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
  | { readonly failure: Failure; readonly status: number }
  | { readonly redirect: string }
  | { readonly asset: Asset }
);

/** The handlers of routes, by name. */
export type Handlers = Readonly<
  Record<string, (request: DashboardRequest) => Promise<DashboardAnswer>>
>;

export type PageNeeds = DashboardNeeds & {
  readonly changes: Changes;
  readonly usage: UsageViews;
  readonly views: ServerViews;
};
