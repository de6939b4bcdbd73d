import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HubError, messageOf, shown } from '#core';
import type { ContainerUsages } from '#dashboard';
import { createInstallJobs, readInstallBody } from '#installs';
import { errorAnswer } from '#jsonrpc';
import { idOf, retryAfterSeconds } from '#transports';
import { type RouteAdmission, isMcp, refusalBody } from './admission.ts';
import { type HttpSystem, problemOf, reportOf, retryAfter, statusOf } from './errors.ts';
import type { HttpNeeds } from './http-needs.ts';
import type { Login } from './login.ts';
import { agentRoutes } from './routes/agents.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { auditChanges, auditRoutes } from './routes/audit.ts';
import { authorizationRoutes } from './routes/authorization.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { clientRoutes } from './routes/clients.ts';
import { activityRoutes } from './routes/activity.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { type Follow, createFollowing } from './routes/events.ts';
import { healthRoutes } from './routes/health.ts';
import { hubRoutes } from './routes/hub.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { jobRoutes } from './routes/jobs.ts';
import { loginRoutes } from './routes/logins.ts';
import { type McpPaths, withoutLastSlash } from './mcp-paths.ts';
import { createToolPolicy } from './tool-policy.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { ollamaRoutes } from './routes/ollama.ts';
import { pinRoutes } from './routes/pins.ts';
import { policyRoutes } from './routes/policy.ts';
import { allLogRoutes } from './routes/logs.ts';
import { installRoutes, logRoutes, serverRoutes } from './routes/servers.ts';
import { taskRoutes } from './routes/tasks.ts';
import { toolRoutes } from './routes/tools.ts';
import { hasUnclearMembers } from './unclear-members.ts';
import { refuseUnknownQuery } from './unknown-queries.ts';
import { upgradeRoutes } from './routes/upgrades.ts';

type Options = {
  readonly maxBodyBytes: number;
  readonly token: string | undefined;
  readonly administration: 'on' | 'off';
};

/** Parts that the routes share. */
type Parts = {
  readonly admission: RouteAdmission;
  readonly paths: McpPaths;
  readonly login: Login;
  readonly usages: ContainerUsages;
  /** True if calls need a token now. */
  readonly needsToken: () => boolean;
  /** True if programs can log in to the hub now. */
  readonly offersLogins: () => boolean;
};

/** Limits of the event streams of logs, calls and jobs, because each stream adds work to every call or line. */
const followed = {
  intervalMs: 250,
  maxStreams: 100,
  full: '100 clients already follow logs, calls, jobs or the audit log: close some of them',
} as const;

/** Creates the Fastify app that answers all requests except plain calls. */
export async function createFastifyApp(options: Options, needs: HttpNeeds, parts: Parts) {
  const { admission } = parts;
  const sendError = createErrorSender(needs.system);
  const tools = createToolPolicy(needs, admission);
  const follow = createFollowing(
    needs.system.clock,
    followed,
    ({ request }: FastifyReply) => admission.admitAgain(request) && tools.allows(request),
  );
  // Loading Fastify takes as long as starting a server, and calls do not need it.
  const { LogController, fastify } = await import('fastify');
  const app = fastify({
    bodyLimit: options.maxBodyBytes,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/' }) => withoutLastSlash(url),
    // A path that cannot be decoded reaches no hook, so the guard checks it here.
    frameworkErrors(error, request, reply) {
      admission.mark(request, reply);
      if (!admission.refuse(request, reply)) sendError(error, request, reply);
    },
    logController: new LogController({ disableRequestLogging: true }),
    // No route has a schema. Without these functions, Fastify loads two schema compilers.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    admission.mark(request, reply);
    if (admission.refuse(request, reply) || admission.answerPreflight(request, reply)) return reply;
  });
  // A token can be revoked while the body arrives, which may take minutes.
  app.addHook('preHandler', async (request, reply) => {
    if (request.body !== undefined && admission.refuse(request, reply)) return reply;
    tools.require(request);
    refuseUnknownQuery(request);
    await tools.count(request, reply);
  });
  app.setErrorHandler(sendError);
  acceptJson(app);
  refuseUnknown(app);
  registerRoutes(app, options, needs, { ...parts, follow });
  await app.ready();
  return app;
}

const noCompiler = () => () => {
  throw new Error('routes of the hub have no schema');
};

/**
 * Parses JSON like Fastify, and an empty body as null: HTTP clients often send this content type with each POST. Refuses
 * members that stand twice in one object: parsers disagree about them.
 */
function acceptJson(app: FastifyInstance): void {
  const type = 'application/json';
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser(type);
  app.addContentTypeParser(type, { parseAs: 'string' }, (request, written, done) => {
    const text = String(written);
    if (text === '') return done(null, null);
    return parse(request, text, (error, body) => {
      const why = error ? whyNotParsed(text) : hasUnclearMembers(text) && unclear;
      done(why ? unreadable(why) : null, body);
    });
  });
}

const unclear =
  'a member of the body stands twice, or is nested in more than 512 levels. Write each member once';

function whyNotParsed(text: string): string {
  try {
    JSON.parse(text);
    return 'a member of the body is called "__proto__" or "constructor". Remove it';
  } catch (error) {
    return `the body is not JSON: ${messageOf(error)}`;
  }
}

const unreadable = (why: string, cause?: unknown) =>
  new HubError('HUB_REQUEST_INVALID', `the request cannot be read: ${why}`, { cause });

/**
 * Answers 405 for a path with other methods, and 404 for other paths. Includes routes that are added after this call.
 */
function refuseUnknown(app: FastifyInstance): void {
  const routes: { readonly path: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*');
    routes.push({ path: new RegExp(`^${pattern}$`), methods: [method].flat() });
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    const path = url.split('?')[0] ?? '';
    const known = routes.filter(route => route.path.test(path)).flatMap(route => route.methods);
    const methods = [...new Set(known)].join(', ');
    // If a route of this method answered 404 itself, its resource does not exist.
    if (methods && !known.includes(method))
      return reply
        .code(405)
        .header('allow', methods)
        .send(refusalBody(url, `${method} is not a method of ${url}, which takes ${methods}`));
    const message = `${method} ${url} is not a path of this hub`;
    return reply.code(404).send({ error: { code: 'HUB_REQUEST_INVALID', message } });
  });
}

/** Adds all routes of the hub. Each states its scope, which the guard enforces (guard.ts). */
function registerRoutes(
  app: FastifyInstance,
  options: Options,
  needs: HttpNeeds,
  parts: Parts & { readonly follow: Follow },
): void {
  const { admission, follow, paths, login, usages, needsToken, offersLogins } = parts;
  const { installs, ...others } = needs;
  const { hub, jobs, prompts, system, telemetry } = others;
  if (telemetry.audit) auditChanges(app, telemetry.audit, admission);
  hubRoutes(app, { ...needs, login, usages });
  const { clients, authorization } = needs.access ?? {};
  if (clients) clientRoutes(app, { clients, needsToken });
  if (authorization) authorizationRoutes(app, { authorization, offersLogins, system });
  const health = healthRoutes(app, needs);
  serverRoutes(app, needs);
  if (hub.logins) loginRoutes(app, { ...needs, logins: hub.logins });
  policyRoutes(app, needs);
  if (hub.approvals) approvalRoutes(app, { approvals: hub.approvals, admission });
  if (hub.pins) pinRoutes(app, hub.pins);
  if (hub.tools) toolRoutes(app, hub.tools);
  activityRoutes(app, telemetry.activity, follow);
  if (telemetry.audit) auditRoutes(app, telemetry.audit, follow);
  logRoutes(app, { ...needs, follow });
  if (telemetry.logs) allLogRoutes(app, { ...needs, logs: telemetry.logs, follow });
  jobRoutes(app, jobs, follow);
  if (hub.agents) agentRoutes(app, { agents: hub.agents, admission, follow });
  const { documentation } = hub;
  if (documentation) documentationRoutes(app, { documentation, admission });
  if (hub.tasks) taskRoutes(app, { tasks: hub.tasks, admission, follow });
  const installJobs = installs && createInstallJobs({ installs, jobs });
  if (installJobs) installRoutes(app, { installs, installJobs, admission, system });
  if (hub.catalog) catalogRoutes(app, { catalog: hub.catalog, installJobs, admission, system });
  if (hub.upgrades) upgradeRoutes(app, { upgrades: hub.upgrades, system });
  if (prompts) ollamaRoutes(app, { prompts, system });
  dashboardRoutes(app, options, {
    ...others,
    admission,
    login,
    hub: {
      ...hub,
      backend: hub.engine.backend,
      health,
      usages,
      access: {
        needsToken,
        clients: () => clients?.list() ?? [],
        secrets: () => hub.config.secrets(),
        revoke: async name => await clients?.revoke(name),
      },
      ...(authorization && { authorization: { ...authorization, isOffered: offersLogins } }),
    },
    ...(installJobs && {
      installs: { ...installs, ...installJobs, read: readInstallBody },
    }),
  });
  mcpRoutes(app, needs, paths, admission);
}

/** Creates the error handler: it sends the status and body of an error, and logs an unexpected error. */
function createErrorSender(system: HttpSystem) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = error instanceof HubError ? error : fromFastify(error, request);
    if (!known) return reply.code(500).send(reportOf(error, request.url, system));
    if (known.code === 'HUB_SHUTTING_DOWN') reply.header('retry-after', retryAfterSeconds);
    // The body of a request to an MCP endpoint, if it was read.
    const bytes = Buffer.isBuffer(request.body) ? request.body : undefined;
    return reply
      .code(statusOf(known))
      .headers(retryAfter(known.data))
      .header('content-type', 'application/json')
      .send(isMcp(request.url) ? errorAnswer(idOf(bytes), known) : problemOf(known));
  };
}

/** Converts Fastify's refusals: a body that is too large, of another type, or not JSON. */
function fromFastify(cause: unknown, request: FastifyRequest): HubError | undefined {
  if (!(cause instanceof Error) || !('statusCode' in cause)) return undefined;
  const { method, headers, routeOptions } = request;
  if (cause.statusCode === 413)
    return new HubError(
      'HUB_BODY_TOO_LARGE',
      `the body is larger than the hub takes: ${routeOptions.bodyLimit} bytes by ${method} ${routeOptions.url}`,
      { cause },
    );
  if (typeof cause.statusCode !== 'number' || cause.statusCode >= 500) return undefined;
  if (cause.statusCode === 414) return unreadable(nameTooLong(request.url), cause);
  const why =
    cause.statusCode === 415
      ? `its Content-Type is ${JSON.stringify(headers['content-type'] ?? '')}: send JSON, with "Content-Type: application/json"`
      : cause.message;
  return unreadable(why, cause);
}

/** Maximum length of a name in a path: the default of Fastify's router. */
const maxNameLength = 100;

function nameTooLong(url: string): string {
  const name = url.split(/[/?]/).find(part => part.length > maxNameLength) ?? url;
  return `its path has the name ${shown(name)}, which is longer than ${maxNameLength} characters`;
}
