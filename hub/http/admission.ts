import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Code, Log } from '#core';
import { type NamedClients, authorizationPaths, endpointPathOf } from '#access';
import { type Principal, isSamePrincipal } from '#policy';
import type { ConnectionShares } from './connection-shares.ts';
import { type Guard, type Scope, guardedRequest } from './guard.ts';
import { createThrottle } from './login.ts';
import type { GuardRefusal } from './origins.ts';
import type { Peers } from './peers.ts';
import { type RefusalLogNeeds, createRefusalLog } from './refusal-log.ts';

type Options = { readonly allowedOrigins: readonly string[] };

type Needs = {
  readonly guard: Guard;
  /** True if programs can log in to the hub now (`routes/authorization.ts`). Absent: they cannot. */
  readonly offersLogins?: () => boolean;
  readonly peers: Pick<Peers, 'of'>;
  readonly shares: ConnectionShares;
  readonly system: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log };
  readonly recordRefusal?: RefusalLogNeeds['recordRefusal'];
  /** The clients by name; undefined if there are none. */
  readonly clients?: Pick<NamedClients, 'ended'> | undefined;
};

export type RouteAdmission = ReturnType<typeof createRouteAdmission>;

/** Asks the guard about requests to routes, and answers refused requests and preflights itself. */
export function createRouteAdmission(options: Options, needs: Needs) {
  const { guard, peers, system } = needs;
  const answers = createClientAnswers(needs.clients);
  const cors = createCors(options.allowedOrigins);
  const logRefusal = createRefusalLog({ ...system, recordRefusal: needs.recordRefusal });
  // Counts wrong tokens, wrong keys and failed logins separately: a program with an old token must not keep people
  // from logging in.
  const callThrottle = createThrottle(system, 'a call with a wrong token was refused');
  const keyThrottle = createThrottle(system, 'a request with a wrong key was refused');
  const check = ({ raw, url }: FastifyRequest, scope: Scope) =>
    guard.check(guardedRequest(raw, peers.of(raw.socket), formsOf(url)), scope);
  /** Principals of the requests that are being answered. */
  const principals = new WeakMap<IncomingMessage, Principal>();
  const scopeOf = ({ routeOptions }: FastifyRequest) => routeOptions.config.scope ?? 'call';

  /**
   * Returns how long a client that sent a wrong token must wait, in milliseconds. The right token is always admitted.
   */
  function waitOf(request: FastifyRequest, scope: Scope, caller: Principal | undefined): number {
    if (request.headers.authorization === undefined) return 0;
    // A client may send its token for calls with any request.
    if (caller && !(caller.kind === 'local' && caller.name === 'local')) return 0;
    const { throttle, way } =
      scope === 'call'
        ? ({ throttle: callThrottle, way: 'call' } as const)
        : ({ throttle: keyThrottle, way: 'key' } as const);
    const waitMs = throttle.waitMs(request.ip);
    throttle.failed(request.ip, way);
    return waitMs;
  }

  /** Returns the WWW-Authenticate header that tells an MCP client where to log in (RFC 9728, section 5.1). */
  function callChallenge(request: FastifyRequest): string {
    const path = isMcp(request.url) ? (endpointPathOf(request.url) ?? '/mcp') : undefined;
    if (path === undefined || needs.offersLogins?.() !== true) return 'Bearer';
    const error = request.headers.authorization === undefined ? '' : ' error="invalid_token",';
    return `Bearer${error} resource_metadata="${originOf(request)}${authorizationPaths.resource}${path}"`;
  }

  /** Logs and audits a refused request. Does not audit that of a client which left before the hub found its user. */
  function recordRefusal({ ip, method, url }: FastifyRequest, refusal: GuardRefusal): void {
    if (refusal.isPeerGone) return system.log.debug({ address: ip }, refusal.message);
    // The query may contain the secret of a login link.
    logRefusal({ address: ip, method, url: url.split('?')[0] ?? '', refusal });
  }

  return {
    recordRefusal,
    /** Adds the CORS headers. Call this before anything answers the request. */
    mark: ({ raw }: FastifyRequest, reply: FastifyReply) => cors.mark(raw, reply.raw),
    /** Answers a preflight of an allowed origin. Returns true if it answered. */
    answerPreflight({ raw }: FastifyRequest, reply: FastifyReply): boolean {
      if (!cors.isPreflight(raw)) return false;
      reply.code(204).headers(cors.preflightHeaders(raw)).send();
      return true;
    },
    refusalOf: (request: FastifyRequest) => check(request, scopeOf(request)).refusal,
    /** Decides again about a request whose answer is still being sent. True if the guard admits it now. */
    admitAgain(request: FastifyRequest): boolean {
      const { principal } = check(request, scopeOf(request));
      // The grants of its principal may have changed.
      if (principal) principals.set(request.raw, principal);
      return principal !== undefined;
    },
    /**
     * Returns the principal of a request that `refuse` admitted to its route. Throws TypeError for any other request.
     */
    principalOf({ raw, url }: FastifyRequest): Principal {
      const principal = principals.get(raw);
      if (!principal) throw new TypeError(`the guard did not admit the request to ${url}`);
      return principal;
    },
    /** True if the guard admits this request to routes of administration. */
    mayAdminister: (request: FastifyRequest) => check(request, 'administer').refusal === undefined,
    /** Answers a request that the guard refuses. Returns true if it answered. */
    refuse(request: FastifyRequest, reply: FastifyReply): boolean {
      const scope = scopeOf(request);
      const { refusal, principal } = check(request, scope);
      if (principal && !needs.shares.take(request.raw.socket, principal)) {
        const body = refusalBody(request.url, needs.shares.reasonFor(principal), 'HUB_SERVER_BUSY');
        reply.code(503).headers({ 'retry-after': '1', connection: 'close' }).send(body);
        return true;
      }
      if (principal) {
        principals.set(request.raw, principal);
        if (mayEnd(principal)) answers.add(reply.raw, principal);
      }
      // Browsers send no token with a preflight.
      if (!refusal || (refusal.status === 401 && cors.isPreflight(request.raw))) return false;
      const caller = scope === 'administer' ? check(request, 'call').principal : undefined;
      const isForOwner = caller !== undefined;
      // The dashboard shows how to log in.
      if ((refusal.status === 401 || isForOwner) && isOfDashboard(request.url)) return false;
      recordRefusal(request, refusal);
      const isUnauthorized = refusal.status === 401;
      const waitMs = isUnauthorized ? waitOf(request, scope, caller) : 0;
      if (isUnauthorized)
        reply.header(
          'www-authenticate',
          scope === 'call' ? callChallenge(request) : 'Bearer scope="administer"',
        );
      if (waitMs > 0) reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
      const code = isForOwner ? 'HUB_OWNER_ONLY' : 'HUB_REQUEST_INVALID';
      const body = refusalBody(request.url, refusal.message, code);
      reply.code(waitMs > 0 ? 429 : refusal.status).send(body);
      return true;
    },
  };
}

/** True for principals whose access can end while the hub runs: clients by name, and callers without a token. */
const mayEnd = ({ kind, name }: Principal): boolean =>
  kind === 'client' || (kind === 'local' && name === 'local');

/**
 * Tracks the answers to principals of `mayEnd`. When the access of a principal ends, so do its streams and the requests
 * that wait for something to read.
 */
function createClientAnswers(clients: Needs['clients']) {
  const open = new Map<ServerResponse, Principal>();
  clients?.ended(({ principal }) => {
    const ended = Array.from(open).filter(([, other]) => isSamePrincipal(other, principal));
    // The transports send their last messages in this turn. The answer to a change ends by itself, even if the change
    // was the revocation.
    setImmediate(() => {
      for (const [response] of ended)
        if (response.headersSent || response.req.method === 'GET') response.destroy();
    });
  });
  return {
    add(response: ServerResponse, principal: Principal): void {
      if (open.has(response)) return;
      open.set(response, principal);
      response.once('close', () => open.delete(response));
    },
  };
}

/** True for paths whose access the dashboard checks itself, because it has a login page. */
const isOfDashboard = (url: string): boolean => /^\/dashboard([/?]|$)/.test(url);

/** Returns whose pages may send HTML forms to this path. */
const formsOf = (url: string) =>
  isOfDashboard(url) ? 'own' : url === authorizationPaths.token && 'allowed';

export const isMcp = (url: string): boolean => /^\/(mcp|sse|messages)(\/|\?|$)/.test(url);

/**
 * Returns the origin of the hub as the client addresses it. The guard has checked the host. A proxy that terminates TLS
 * sets X-Forwarded-Proto; a client that sets a wrong value misleads only itself.
 */
export function originOf({ protocol, headers }: FastifyRequest): string {
  const isSecure = protocol === 'https' || headers['x-forwarded-proto'] === 'https';
  return `${isSecure ? 'https' : 'http'}://${(headers.host ?? 'localhost').toLowerCase()}`;
}

/** Returns the body of a refusal. On an MCP endpoint it is a JSON-RPC error without id, as MCP specifies. */
export const refusalBody = (url: string, message: string, code: Code = 'HUB_REQUEST_INVALID') =>
  isMcp(url)
    ? { jsonrpc: '2.0', id: null, error: { code: -32000, message, data: { code } } }
    : { error: { code, message } };

/** Request headers that pages of allowed origins may set. */
const allowedHeaders =
  'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, x-client-name';

/** Matches headers that repeat a tool's argument (MCP 2026-07-28). */
const paramHeader = /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const maxParamHeaders = 64;

/**
 * Answers CORS requests (Fetch standard, section 3.2) for the configured origins only: pages of loopback origins may
 * call the hub but not read its answers. Sets the headers on the raw response, because the MCP endpoints bypass
 * Fastify's reply.
 */
export function createCors(allowedOrigins: readonly string[]) {
  const origins = new Set(allowedOrigins.map(origin => origin.toLowerCase()));
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && origins.has(origin.toLowerCase());
  return {
    /** Adds the CORS headers to the answer if the origin is allowed. */
    mark(request: IncomingMessage, response: ServerResponse): void {
      if (origins.size === 0) return;
      response.setHeader('vary', 'Origin');
      const { origin } = request.headers;
      if (!isAllowed(origin)) return;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate');
    },
    /** Returns the headers of the answer to a preflight, without the headers that `mark` adds. */
    preflightHeaders({
      headers: { 'access-control-request-headers': names = '' },
    }: IncomingMessage) {
      // A wildcard is not valid with credentials, so the requested headers are named.
      const asked = names.toLowerCase().split(',');
      const params = asked.map(name => name.trim()).filter(name => paramHeader.test(name));
      const headers = [allowedHeaders, ...params.slice(0, maxParamHeaders)];
      return {
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': headers.join(', '),
        'access-control-max-age': '600',
      };
    },
    /** True if a request is a preflight of an allowed origin. */
    isPreflight: ({ method, headers }: IncomingMessage) =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      isAllowed(headers.origin),
  };
}
