import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Activity } from '#activity';
import type { Clock, Log } from '#core';
import type { Router } from '#routing';
import type { Installs, Servers } from '#servers';
import type { Metrics } from '#telemetry';
import type { ContainerUsages } from '../container-usage.ts';
import type { Engine, Overall } from '../routes/health.ts';
import type { Prompts } from '../routes/ollama.ts';
import type { PromptHealth } from '../routes/prompt-health.ts';

export type DashboardOptions = {
  /** The token that whoever looks must give, where one is set. */
  readonly token: string | undefined;
};

/** What the pages show, and what they can do about it. */
export type DashboardNeeds = {
  readonly servers: Servers;
  readonly router: Pick<Router, 'openSessionless' | 'sessions'>;
  readonly engine: Pick<Engine, 'backend'>;
  readonly health: () => Promise<Overall>;
  readonly usages: ContainerUsages;
  readonly activity: Pick<Activity, 'list' | 'find' | 'changed'>;
  readonly metrics: Pick<Metrics, 'snapshot'>;
  /** Removes what must not be shown. */
  readonly redact: (text: string) => string;
  /** Absent: servers are installed and removed in the file only. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review'>;
  readonly prompts?: () => Promise<Prompts>;
  readonly promptHealth?: Pick<PromptHealth, 'loaded'>;
  readonly hubVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};

/** The most that a form may hold, in bytes. */
export const maxFormBytes = 2 ** 20;

/** Every page and action; each is answered by the member of that name, once the dashboard is loaded. */
export const routes = [
  ['GET', '/dashboard', 'overview'],
  ['GET', '/dashboard/health-partial', 'healthPartial'],
  ['GET', '/dashboard/stats-partial', 'statsPartial'],
  ['GET', '/dashboard/activity-partial', 'activityPartial'],
  ['GET', '/dashboard/caches-partial', 'cachesPartial'],
  ['GET', '/dashboard/sessions-partial', 'sessionsPartial'],
  ['GET', '/dashboard/servers/:name', 'server'],
  ['GET', '/dashboard/servers/:name/state-partial', 'statePartial'],
  ['GET', '/dashboard/servers/:name/offers-partial', 'offersPartial'],
  ['GET', '/dashboard/servers/:name/log-partial', 'logPartial'],
  ['GET', '/dashboard/servers/:name/tool', 'tool'],
  ['POST', '/dashboard/servers/:name/tool', 'callTool'],
  ['GET', '/dashboard/servers/:name/remove', 'confirmRemove'],
  ['GET', '/dashboard/activity', 'activity'],
  ['GET', '/dashboard/activity/:id', 'call'],
  ['GET', '/dashboard/caches', 'caches'],
  ['POST', '/dashboard/caches', 'explain'],
  ['GET', '/dashboard/sessions', 'sessions'],
  ['GET', '/dashboard/install', 'install'],
  ['POST', '/dashboard/install', 'beginInstall'],
  ['GET', '/dashboard/install/:id', 'job'],
  ['GET', '/dashboard/install/:id/partial', 'jobPartial'],
  ['POST', '/dashboard/actions/clear-cache', 'clearCache'],
  ['POST', '/dashboard/actions/start/:name', 'start'],
  ['POST', '/dashboard/actions/stop/:name', 'stop'],
  ['POST', '/dashboard/actions/restart/:name', 'restart'],
  ['POST', '/dashboard/actions/remove/:name', 'remove'],
  ['POST', '/dashboard/actions/cancel-install/:id', 'cancelInstall'],
  ['GET', '/dashboard/events', 'events'],
  ['POST', '/dashboard/login', 'login'],
  ['POST', '/dashboard/logout', 'logout'],
  ['GET', '/dashboard/assets/:file', 'asset'],
  ['GET', '/dashboard/*', 'nowhere'],
] as const;

/** What answers each route. */
export type DashboardAnswers = Readonly<
  Record<
    (typeof routes)[number][2],
    (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
  >
>;
