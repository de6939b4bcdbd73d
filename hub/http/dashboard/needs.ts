import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Activity } from '#activity';
import type { Clock, Log } from '#core';
import type { InstallJobs, Installs } from '#installs';
import type { Jobs } from '#jobs';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import type { Metrics } from '#telemetry';
import type { ContainerUsages } from '../container-usage.ts';
import type { Scope } from '../guard.ts';
import type { Refusal } from '../guarded-request.ts';
import type { Login } from '../login/login.ts';
import type { Engine, Overall } from '../routes/health.ts';
import type { Prompts } from '../routes/ollama.ts';
import type { PromptHealth } from '../routes/prompt-health.ts';

export type DashboardOptions = {
  /** Token for read access, if one is set. */
  readonly token: string | undefined;
  readonly administration: 'on' | 'off';
};

/** Dependencies of the dashboard. */
export type DashboardNeeds = {
  readonly login: Login;
  /** Returns the reason why the guard refuses a request, if it does. */
  readonly refusalOf: (request: FastifyRequest) => Refusal | undefined;
  /** The principal of an admitted request. */
  readonly principalOf: (request: FastifyRequest) => Principal;
  /** True if this request may use administration routes. */
  readonly mayAdminister: (request: FastifyRequest) => boolean;
  readonly servers: Servers;
  readonly router: Pick<Router, 'openSessionless' | 'sessions'>;
  readonly engine: Pick<Engine, 'backend'>;
  readonly health: () => Promise<Overall>;
  readonly usages: ContainerUsages;
  readonly activity: Pick<Activity, 'list' | 'find' | 'changed'>;
  readonly metrics: Pick<Metrics, 'snapshot'>;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
  /** Absent: this hub does not change its config file. */
  readonly installs?: Pick<Installs, 'remove' | 'review'>;
  readonly installJobs?: Pick<InstallJobs, 'begin'>;
  readonly jobs: Jobs;
  readonly prompts?: () => Promise<Prompts>;
  readonly promptHealth?: Pick<PromptHealth, 'loaded'>;
  readonly hubVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};

/** Maximum size of a form in bytes. */
export const maxFormBytes = 2 ** 20;

/**
 * All pages and actions, with their handler in `DashboardAnswers` and their scope. Pages of scope `call` show private data
 * only to the owner.
 */
export const routes = [
  ['GET', '/dashboard', 'overview', 'call'],
  ['GET', '/dashboard/health-partial', 'healthPartial', 'call'],
  ['GET', '/dashboard/stats-partial', 'statsPartial', 'call'],
  ['GET', '/dashboard/activity-partial', 'activityPartial', 'call'],
  ['GET', '/dashboard/caches-partial', 'cachesPartial', 'call'],
  ['GET', '/dashboard/sessions-partial', 'sessionsPartial', 'call'],
  ['GET', '/dashboard/servers/:name', 'server', 'call'],
  ['GET', '/dashboard/servers/:name/state-partial', 'statePartial', 'call'],
  ['GET', '/dashboard/servers/:name/offers-partial', 'offersPartial', 'call'],
  ['GET', '/dashboard/servers/:name/log-partial', 'logPartial', 'administer'],
  ['GET', '/dashboard/servers/:name/tool', 'tool', 'administer'],
  ['POST', '/dashboard/servers/:name/tool', 'callTool', 'administer'],
  ['GET', '/dashboard/servers/:name/remove', 'confirmRemove', 'administer'],
  ['GET', '/dashboard/activity', 'activity', 'call'],
  ['GET', '/dashboard/activity/:id', 'call', 'call'],
  ['GET', '/dashboard/caches', 'caches', 'call'],
  // Shows similar prompts of other clients.
  ['POST', '/dashboard/caches', 'explain', 'administer'],
  ['GET', '/dashboard/sessions', 'sessions', 'call'],
  ['GET', '/dashboard/jobs', 'jobs', 'call'],
  ['GET', '/dashboard/jobs-partial', 'jobsPartial', 'call'],
  ['GET', '/dashboard/install', 'install', 'administer'],
  ['POST', '/dashboard/install', 'beginInstall', 'administer'],
  ['GET', '/dashboard/install/:id', 'job', 'administer'],
  ['GET', '/dashboard/install/:id/partial', 'jobPartial', 'administer'],
  ['POST', '/dashboard/actions/clear-cache', 'clearCache', 'administer'],
  ['POST', '/dashboard/actions/start/:name', 'start', 'administer'],
  ['POST', '/dashboard/actions/stop/:name', 'stop', 'administer'],
  ['POST', '/dashboard/actions/restart/:name', 'restart', 'administer'],
  ['POST', '/dashboard/actions/remove/:name', 'remove', 'administer'],
  ['POST', '/dashboard/actions/cancel-install/:id', 'cancelInstall', 'administer'],
  ['GET', '/dashboard/events', 'events', 'call'],
  ['GET', '/dashboard/login', 'loginPage', 'call'],
  ['POST', '/dashboard/login', 'login', 'call'],
  ['POST', '/dashboard/logout', 'logout', 'call'],
  ['GET', '/dashboard/assets/:file', 'asset', 'call'],
  ['GET', '/dashboard/*', 'nowhere', 'call'],
] as const satisfies readonly (readonly ['GET' | 'POST', string, string, Scope])[];

/** The handler of each route. */
export type DashboardAnswers = Readonly<
  Record<
    (typeof routes)[number][2],
    (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
  >
>;
