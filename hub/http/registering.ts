import type { FastifyInstance } from 'fastify';
import { createInstallJobs } from '#installs';
import type { ContainerUsages } from './container-usage.ts';
import type { DashboardNeeds, DashboardOptions } from './dashboard/needs.ts';
import { dashboardRoutes } from './dashboard/routes.ts';
import type { MetricFamiliesNeeds } from './metric-families.ts';
import type { HttpNeeds } from './http-needs.ts';
import { activityRoutes } from './routes/activity.ts';
import { callTokenRoutes } from './routes/call-token.ts';
import { configRoutes } from './routes/config.ts';
import { createFollowing } from './routes/follow.ts';
import { healthRoutes } from './routes/health.ts';
import { installRoutes } from './routes/install.ts';
import { jobRoutes } from './routes/jobs.ts';
import { loginLinkRoutes } from './routes/login-link.ts';
import { logRoutes } from './routes/logs.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { metricRoutes } from './routes/metrics.ts';
import { ollamaRoutes } from './routes/ollama.ts';
import { rootRoutes } from './routes/root.ts';
import { serverRoutes } from './routes/servers.ts';
import { sseRoutes } from './routes/sse.ts';

export type RouteNeeds = HttpNeeds &
  Pick<DashboardNeeds, 'login' | 'refusalOf' | 'principalOf' | 'mayAdminister'> & {
    readonly measured: MetricFamiliesNeeds;
    readonly usages: ContainerUsages;
  };

/** Adds all routes of the hub. Each states its scope, which the guard enforces (guard.ts). */
export function registerRoutes(
  server: FastifyInstance,
  options: DashboardOptions,
  needs: RouteNeeds,
): void {
  rootRoutes(server, needs);
  const health = healthRoutes(server, needs);
  serverRoutes(server, needs);
  configRoutes(server, needs);
  callTokenRoutes(server, needs);
  const follow = createFollowing(needs.clock);
  activityRoutes(server, { ...needs, follow });
  logRoutes(server, { ...needs, follow });
  metricRoutes(server, needs.measured);
  jobRoutes(server, { ...needs, follow });
  const { installs, prompts } = needs;
  const installJobs = installs && createInstallJobs({ ...needs, installs });
  if (installs && installJobs) installRoutes(server, { ...needs, installs, installJobs });
  if (prompts) ollamaRoutes(server, { ...needs, prompts });
  loginLinkRoutes(server, needs);
  dashboardRoutes(server, options, { ...needs, health, ...(installJobs && { installJobs }) });
  mcpRoutes(server, needs);
  sseRoutes(server, needs);
}
