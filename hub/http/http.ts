import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activity } from '#activity';
import { type Clock, type Log, type Part, HubError, addressOf, messageOf } from '#core';
import type { Sharing } from '#resilience';
import type { Router } from '#routing';
import { errorAnswer } from '#rpc';
import type { Installs, Servers } from '#servers';
import type { Family, Metrics } from '#telemetry';
import {
  type Connections,
  type Sse,
  type Streamable,
  type WebSockets,
  idOf,
  retryAfterSeconds,
} from '#transports';
import type { FamiliesNeeds } from './families.ts';
import { createCors } from './cors.ts';
import { type Patience, createEntrance } from './entrance.ts';
import { bugOf, problemOf, retryAfter, statusOf } from './errors.ts';
import { createContainerUsages } from './container-usage.ts';
import { dashboardRoutes, isOfDashboard } from './dashboard/routes.ts';
import { type GuardNeeds, type GuardOptions, createGuard } from './guard.ts';
import { type GuardedRequest, guardedRequest } from './guarded-request.ts';
import { type Listening, listenOn } from './listen.ts';
import { createRefusalLog } from './refusal-log.ts';
import { createMethods } from './methods.ts';
import { type PeersNeeds, createPeers } from './peers.ts';
import { activityRoutes } from './routes/activity.ts';
import { type ConfigControl, configRoutes } from './routes/config.ts';
import { createFollowing } from './routes/follow.ts';
import { type Engine, healthRoutes } from './routes/health.ts';
import { installRoutes } from './routes/install.ts';
import { logRoutes } from './routes/logs.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { metricRoutes } from './routes/metrics.ts';
import { type Prompts, ollamaRoutes } from './routes/ollama.ts';
import type { PromptHealth } from './routes/prompt-health.ts';
import { rootRoutes } from './routes/root.ts';
import { serverRoutes } from './routes/servers.ts';
import { sseRoutes } from './routes/sse.ts';

export type HttpOptions = GuardOptions & {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Longer bodies are refused with 413, in bytes. */
  readonly maxBodyBytes: number;
  /** How long a request may take to arrive; a minute for its head and five for all of it by default. */
  readonly patience?: Patience;
};

/** What the HTTP room needs. It builds none of these itself. */
export type HttpNeeds = {
  readonly servers: Servers;
  readonly router: Router;
  readonly streamable: Streamable;
  readonly connections: Pick<Connections, 'size' | 'isDraining'>;
  readonly webSockets: WebSockets;
  readonly sse: Sse;
  readonly engine: Engine;
  readonly config: ConfigControl;
  /** How breakers stand with those of other hubs. */
  readonly sharing: Pick<Sharing, 'status'>;
  /** What the guard asks besides its options. Absent: nobody is logged in, and only ROUTER_TOKEN is a token. */
  readonly guard?: Partial<GuardNeeds>;
  /** The kernel's tables of sockets, and the user that the hub runs as. Absent: users are not told apart. */
  readonly peers?: PeersNeeds;
  /** Absent: servers are installed and removed in the file only. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review'>;
  /** What improves prompts, loaded with the first use. Absent: the hub improves none. */
  readonly prompts?: () => Promise<Prompts>;
  readonly promptHealth?: PromptHealth;
  /** The newest calls, and what they took. */
  readonly activity: Activity;
  readonly metrics: Metrics;
  /** What the hub itself takes of the machine's memory, in bytes. */
  readonly residentBytes: () => number;
  /** Removes what must not be shown from what a server wrote. */
  readonly redact: (text: string) => string;
  readonly hubVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};

/** Its `start` listens, and answers calls from there on. */
export type Http = Part & {
  /** Loads what answers all but calls, for which the first such request waits otherwise. */
  load(): Promise<void>;
  /** Where it listens, once started, with the host as it was given: `http://127.0.0.1:9090`. */
  readonly address: string;
  /** By which it is opened on its own machine, once started: `http://localhost:9090`. */
  readonly url: string;
  /** All that the hub measures, as it stands now: what `/metrics` shows. */
  measure(): Promise<readonly Family[]>;
};

/** The hub's HTTP server. Answers nothing before `start`. */
export function createHttp(options: HttpOptions, needs: HttpNeeds): Http {
  const guard = createGuard(options, needs.guard);
  const peers = createPeers(needs.peers ?? { tables: undefined, uid: 0 });
  const cors = createCors(options.allowedOrigins);
  const refusals = createRefusalLog(needs);
  const usages = createContainerUsages(
    () => needs.servers.all.flatMap(one => [one, ...needs.servers.instances.list(one)]),
    needs.clock,
  );
  const sessions = () => needs.streamable.sessionCount + needs.connections.size;
  const measured: FamiliesNeeds = { ...needs, usages, sessions };
  let app: FastifyInstance | undefined;
  let loading: Promise<FastifyInstance> | undefined;
  let listening: Listening | undefined;
  let address = '';
  let url = '';

  const routes = async () => (app = await (loading ??= build()));

  async function build(): Promise<FastifyInstance> {
    // It takes as long to load as a server to start, and calls do without it.
    const { LogController, fastify } = await import('fastify');
    const server = fastify({
      bodyLimit: options.maxBodyBytes,
      exposeHeadRoutes: false,
      // A path that cannot be decoded reaches no hook: who asks is looked at here.
      frameworkErrors(error, request, reply) {
        cors.mark(request.raw, reply.raw);
        if (!refuseForeign(request, reply)) sendError(error, request, reply);
      },
      logController: new LogController({ disableRequestLogging: true }),
      // No route has a schema: without these, Fastify loads two compilers of them.
      schemaController: {
        compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
      },
    });
    server.addHook('onRequest', async (request, reply) => {
      cors.mark(request.raw, reply.raw);
      if (refuseForeign(request, reply)) return reply;
      if (cors.isPreflight(request.raw))
        return await reply.code(204).headers(cors.preflightHeaders(request.raw)).send();
    });
    const methodsOf = createMethods(server);
    server.setErrorHandler((error, request, reply) => sendError(error, request, reply));
    server.setNotFoundHandler((request, reply) => {
      const { method, url } = request;
      const methods = methodsOf(url.split('?')[0] ?? '').join(', ');
      if (methods)
        return reply
          .code(405)
          .header('allow', methods)
          .send(refusalBody(url, `${method} is not a method of ${url}, which takes ${methods}`));
      return reply.code(404).send({
        error: {
          code: 'HUB_REQUEST_INVALID',
          message: `${method} ${url} is no path of this hub`,
        },
      });
    });
    rootRoutes(server, needs);
    const health = healthRoutes(server, needs);
    serverRoutes(server, needs);
    configRoutes(server, needs);
    const follow = createFollowing(needs.clock);
    activityRoutes(server, { ...needs, follow });
    logRoutes(server, { ...needs, follow });
    metricRoutes(server, measured);
    const { installs, prompts } = needs;
    if (installs) installRoutes(server, { ...needs, installs });
    if (prompts) ollamaRoutes(server, { ...needs, prompts });
    dashboardRoutes(server, options, { ...needs, health, usages });
    mcpRoutes(server, needs);
    sseRoutes(server, needs);
    await server.ready();
    return server;
  }

  /** Answers by the routes. */
  const otherwise: RequestListener = (request, response) => {
    if (app) app.routing(request, response);
    else void routes().then(loaded => loaded.routing(request, response));
  };

  /** Refuses a request that the guard does not admit to its route; true where it did. */
  function refuseForeign(request: FastifyRequest, reply: FastifyReply): boolean {
    const peer = peers.of(request.raw.socket);
    const guarded = guardedRequest(request.raw, peer, isOfDashboard(request.url));
    const refusal = guard.check(guarded, request.routeOptions.config.scope ?? 'call');
    // A browser does not send the token before it knows that it may.
    if (!refusal || (refusal.status === 401 && cors.isPreflight(request.raw))) return false;
    // It asks for the token in a form.
    if (refusal.status === 401 && isOfDashboard(request.url)) return false;
    if (refusal.status === 401) reply.header('www-authenticate', 'Bearer');
    const { ip: address, method, url } = request;
    refusals.note({ address, method, url, refusal });
    reply.code(refusal.status).send(refusalBody(request.url, refusal.message));
    return true;
  }

  function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const known = error instanceof HubError ? error : fromFastify(error, request);
    if (known?.code === 'HUB_SHUTTING_DOWN') reply.header('retry-after', retryAfterSeconds);
    if (known)
      return reply
        .code(statusOf(known))
        .headers(retryAfter(known.data))
        .header('content-type', 'application/json')
        .send(
          isMcp(request.url) ? errorAnswer(idOf(bytesOf(request.body)), known) : problemOf(known),
        );
    return reply.code(500).send(bugOf(error, request.url, needs));
  }

  return {
    name: 'http',
    get address() {
      return address;
    },
    get url() {
      return url;
    },
    async start() {
      const tls = options.tls && {
        cert: await readPem('ROUTER_TLS_CERT', options.tls.certFile),
        key: await readPem('ROUTER_TLS_KEY', options.tls.keyFile),
      };
      const admits = (request: GuardedRequest) => guard.check(request, 'call') === undefined;
      listening = await listenOn(options, () =>
        createEntrance({ ...options, tls }, { ...needs, admits, peers, otherwise }),
      );
      const { port } = listening;
      const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
      address = `${options.tls ? 'https' : 'http'}://${host}:${port}`;
      url = addressOf({ host: options.host, port, isSecure: options.tls !== undefined });
    },
    async load() {
      await routes();
    },
    async stop() {
      await listening?.close();
      await (await loading)?.close();
    },
    async measure() {
      const { readFamilies } = await import('./families.ts');
      return await readFamilies(measured);
    },
  };
}

const noCompiler = () => () => {
  throw new Error('routes of the hub have no schema');
};

/** On an MCP endpoint a refusal is a JSON-RPC error without id, as the specification says. */
function refusalBody(url: string, message: string): object {
  return isMcp(url)
    ? { jsonrpc: '2.0', id: null, error: { code: -32000, message } }
    : { error: { code: 'HUB_REQUEST_INVALID', message } };
}

const isMcp = (url: string) => /^\/(mcp|sse|messages)(\/|\?|$)/.test(url);

/** Fastify's own refusals: a body that is too large, of another type, or not JSON. */
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
  const why =
    cause.statusCode === 415
      ? `its Content-Type is ${JSON.stringify(headers['content-type'] ?? '')}: send JSON, with "Content-Type: application/json"`
      : cause.message;
  return new HubError('HUB_REQUEST_INVALID', `the request cannot be read: ${why}`, { cause });
}

async function readPem(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${setting}: ${JSON.stringify(file)} cannot be read (${messageOf(error)})`,
      { cause: error },
    );
  }
}

/** What an MCP endpoint was sent, where that was read. */
const bytesOf = (body: unknown) => (Buffer.isBuffer(body) ? body : undefined);
