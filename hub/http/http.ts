import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Service, HubError, addressOf, messageOf } from '#core';
import { errorAnswer } from '#jsonrpc';
import type { MetricFamily } from '#telemetry';
import { idOf, noBudget, retryAfterSeconds } from '#transports';
import { createAdmission, isMcp, refusalBody } from './admission.ts';
import { createContainerUsages } from './container-usage.ts';
import { createCors } from './cors.ts';
import { type Patience, createListener } from './listener.ts';
import { bugOf, problemOf, retryAfter, statusOf } from './errors.ts';
import type { MetricFamiliesNeeds } from './metric-families.ts';
import { type GuardOptions, createGuard } from './guard.ts';
import type { GuardedRequest } from './guarded-request.ts';
import type { HttpNeeds } from './http-needs.ts';
import { type Listening, addressesOfNetworks, listenOn } from './listen.ts';
import { createLogin } from './login/login.ts';
import { createMethods } from './methods.ts';
import { createPeers } from './peers.ts';
import { createRefusalLog } from './refusal-log.ts';
import { registerRoutes } from './registering.ts';

export type HttpOptions = GuardOptions & {
  readonly ownerKey: string;
  readonly host: string;
  /** Names of this machine whose addresses it listens on, besides loopback, instead of `host`. */
  readonly networks?: readonly string[];
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Longer bodies are refused with 413. In bytes. */
  readonly maxBodyBytes: number;
  /** How long a request may take to arrive; a minute for its head and five for all of it by default. */
  readonly patience?: Patience;
  /** More connections than this are refused with 503; 2,000 by default. */
  readonly maxConnections?: number;
};

const defaultMaxConnections = 2_000;

/** Listens and answers calls after `start`. */
export type Http = Service & {
  /** Loads the routes, which the first request other than a call would wait for. */
  load(): Promise<void>;
  /** Its address after `start`, with the host as configured: `http://127.0.0.1:9090`. */
  readonly address: string;
  /** Its address on this machine after `start`: `http://localhost:9090`. */
  readonly url: string;
  /** Its sockets after `start`: `127.0.0.1:9090`. */
  readonly sockets: readonly string[];
  /** A new link that logs a browser in to the dashboard as the owner, once. */
  createLoginLink(): string;
  /** The current metrics, as `/metrics` shows them. */
  measure(): Promise<readonly MetricFamily[]>;
};

/** The hub's HTTP server. */
export function createHttp(options: HttpOptions, needs: HttpNeeds): Http {
  const login = createLogin(options, needs);
  const guard = createGuard(options, {
    isLoggedIn: headers => login.scopeOf(headers) === 'administer',
    ...needs.guard,
  });
  const peers = createPeers(needs.peers ?? { tables: undefined, uid: 0 });
  const cors = createCors(options.allowedOrigins);
  const refusals = createRefusalLog(needs);
  const admission = createAdmission(options, { guard, peers, cors, login, refusals });
  const usages = createContainerUsages(
    () => needs.servers.all.flatMap(one => [one, ...needs.servers.instances.list(one)]),
    needs.clock,
  );
  const sessions = () => needs.streamable.sessionCount + needs.connections.size;
  const measured: MetricFamiliesNeeds = { ...needs, usages, sessions };
  let app: FastifyInstance | undefined;
  let loading: Promise<FastifyInstance> | undefined;
  let listening: Listening | undefined;
  let address = '';
  let url = '';

  const routes = async () => (app = await (loading ??= build()));

  async function build(): Promise<FastifyInstance> {
    // Loading Fastify takes as long as starting a server, and calls do not need it.
    const { LogController, fastify } = await import('fastify');
    const server = fastify({
      bodyLimit: options.maxBodyBytes,
      exposeHeadRoutes: false,
      // A path that cannot be decoded reaches no hook, so the guard is asked here.
      frameworkErrors(error, request, reply) {
        cors.mark(request.raw, reply.raw);
        if (!admission.refuse(request, reply)) sendError(error, request, reply);
      },
      logController: new LogController({ disableRequestLogging: true }),
      // No route has a schema: without these, Fastify loads two compilers of them.
      schemaController: {
        compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
      },
    });
    server.addHook('onRequest', async (request, reply) => {
      cors.mark(request.raw, reply.raw);
      if (admission.refuse(request, reply)) return reply;
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
    registerRoutes(server, options, {
      ...needs,
      measured,
      usages,
      login,
      ...admission,
    });
    await server.ready();
    return server;
  }

  /** Answers by a route, after loading the routes if necessary. */
  const fallback: RequestListener = (request, response) => {
    if (app) app.routing(request, response);
    else void routes().then(loaded => loaded.routing(request, response));
  };

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
    get sockets() {
      return listening?.sockets ?? [];
    },
    createLoginLink: () => `${url}${login.createLink().path}`,
    async start() {
      const tls = options.tls && {
        cert: await readPem('ROUTER_TLS_CERT', options.tls.certFile),
        key: await readPem('ROUTER_TLS_KEY', options.tls.keyFile),
      };
      const admit = (request: GuardedRequest) => guard.check(request, 'call').principal;
      const { networks = [] } = options;
      listening = await listenOn(
        options,
        () =>
          createListener(
            { ...options, maxConnections: options.maxConnections ?? defaultMaxConnections, tls },
            {
              ...needs,
              unfinished: needs.unfinished ?? noBudget,
              unread: needs.unread ?? noBudget,
              admit,
              peers,
              fallback,
            },
          ),
        networks.length === 0 ? undefined : () => addressesOfNetworks(networks),
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
      const { readMetricFamilies } = await import('./metric-families.ts');
      return await readMetricFamilies(measured);
    },
  };
}

const noCompiler = () => () => {
  throw new Error('routes of the hub have no schema');
};

/** Fastify's refusals: a body that is too large, of another type, or not JSON. */
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

/** The body of a request to an MCP endpoint, if it was read. */
const bytesOf = (body: unknown) => (Buffer.isBuffer(body) ? body : undefined);
