import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditedRefusal } from '#audit';
import type { Clock, Code, Log } from '#core';
import { type NamedClients, authorizationPaths, endpointPathOf } from '#access';
import { type Principal, isSamePrincipal } from '#policy';
import type { ConnectionShares } from './connection-shares.ts';
import { type Guard, type Scope, guardedRequest } from './guard.ts';
import { createThrottle } from './login.ts';
import type { GuardRefusal } from './origins.ts';
import type { Peers } from './peers.ts';

type Options = { readonly allowedOrigins: readonly string[] };

type Needs = {
  readonly guard: Guard;
  /** Whether programs can log in now (`routes/authorization.ts`). Absent: they cannot. */
  readonly offersLogins?: () => boolean;
  readonly peers: Pick<Peers, 'of'>;
  readonly shares: ConnectionShares;
  readonly system: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log };
  /** Records a refused request in the audit log, at most as often as it is logged. */
  readonly recordRefusal?: ((refusal: AuditedRefusal) => void) | undefined;
  /** Undefined: there are no clients by name. */
  readonly clients?: Pick<NamedClients, 'ended'> | undefined;
};

export type RouteAdmission = ReturnType<typeof createRouteAdmission>;

/** Asks the guard about requests to routes, and answers refused ones and preflights. */
export function createRouteAdmission(options: Options, needs: Needs) {
  const { guard, peers, system } = needs;
  const answers = createClientAnswers(needs.clients);
  const cors = createCors(options.allowedOrigins);
  const logRefusal = createRefusalLog({ ...system, recordRefusal: needs.recordRefusal });
  // Apart from each other and from logins: a program with an old token or key must not keep people from logging in.
  const callThrottle = createThrottle(system, 'a call with a wrong token was refused');
  const keyThrottle = createThrottle(system, 'a request with a wrong key was refused');
  const check = ({ raw, url }: FastifyRequest, scope: Scope) =>
    guard.check(guardedRequest(raw, peers.of(raw.socket), formsOf(url)), scope);
  /** Principals of the requests that are being answered. */
  const principals = new WeakMap<IncomingMessage, Principal>();
  const scopeOf = ({ routeOptions }: FastifyRequest) => routeOptions.config.scope ?? 'call';

  /** How long a client that sent a wrong token must wait, in milliseconds. The right one is always admitted. */
  function waitOf(request: FastifyRequest, scope: Scope, caller: Principal | undefined): number {
    if (request.headers.authorization === undefined) return 0;
    // A client may send its token for calls everywhere.
    if (caller && !(caller.kind === 'local' && caller.name === 'local')) return 0;
    const { throttle, way } =
      scope === 'call'
        ? ({ throttle: callThrottle, way: 'call' } as const)
        : ({ throttle: keyThrottle, way: 'key' } as const);
    const waitMs = throttle.waitMs(request.ip);
    throttle.failed(request.ip, way);
    return waitMs;
  }

  /** Tells a client of an MCP endpoint where it can log in (RFC 9728, section 5.1). */
  function callChallenge(request: FastifyRequest): string {
    const path = isMcp(request.url) ? (endpointPathOf(request.url) ?? '/mcp') : undefined;
    if (path === undefined || needs.offersLogins?.() !== true) return 'Bearer';
    const error = request.headers.authorization === undefined ? '' : ' error="invalid_token",';
    return `Bearer${error} resource_metadata="${originOf(request)}${authorizationPaths.resource}${path}"`;
  }

  return {
    /** Adds the CORS headers. Call it before anything answers. */
    mark: ({ raw }: FastifyRequest, reply: FastifyReply) => cors.mark(raw, reply.raw),
    /** Answers a preflight of an allowed origin. Returns whether it did. */
    answerPreflight({ raw }: FastifyRequest, reply: FastifyReply): boolean {
      if (!cors.isPreflight(raw)) return false;
      reply.code(204).headers(cors.preflightHeaders(raw)).send();
      return true;
    },
    refusalOf: (request: FastifyRequest) => check(request, scopeOf(request)).refusal,
    /** The principal of a request that `refuse` admitted to its route. Throws TypeError for any other request. */
    principalOf({ raw, url }: FastifyRequest): Principal {
      const principal = principals.get(raw);
      if (!principal) throw new TypeError(`the guard did not admit the request to ${url}`);
      return principal;
    },
    /** Whether the guard admits this request to a route of administration. */
    mayAdminister: (request: FastifyRequest) => check(request, 'administer').refusal === undefined,
    /** Answers a request that the guard refuses. Returns whether it did. */
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
      // The dashboard says how to log in.
      if ((refusal.status === 401 || isForOwner) && isOfDashboard(request.url)) return false;
      // The query may hold the secret of a login link.
      const path = request.url.split('?')[0] ?? '';
      logRefusal({ address: request.ip, method: request.method, url: path, refusal });
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

/** Principals whose access can end while the hub runs: clients by name, and callers without a token. */
const mayEnd = ({ kind, name }: Principal): boolean =>
  kind === 'client' || (kind === 'local' && name === 'local');

/** The answers to these principals that are being sent. Streams end with the access. */
function createClientAnswers(clients: Needs['clients']) {
  const open = new Map<ServerResponse, Principal>();
  clients?.ended(({ principal }) => {
    const ended = Array.from(open).filter(([, other]) => isSamePrincipal(other, principal));
    // The transports send their last messages in this turn. An answer that has not begun ends by itself.
    setImmediate(() => {
      for (const [response] of ended) if (response.headersSent) response.destroy();
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

/** Whose pages may send forms to this path. */
const formsOf = (url: string) =>
  isOfDashboard(url) ? 'own' : url === authorizationPaths.token && 'allowed';

export const isMcp = (url: string): boolean => /^\/(mcp|sse|messages)(\/|\?|$)/.test(url);

/**
 * The origin by which a client reaches the hub. The guard has checked the host. A proxy that ends TLS says so in
 * X-Forwarded-Proto; a client that lies about it misleads only itself.
 */
export function originOf({ protocol, headers }: FastifyRequest): string {
  const isSecure = protocol === 'https' || headers['x-forwarded-proto'] === 'https';
  return `${isSecure ? 'https' : 'http'}://${(headers.host ?? 'localhost').toLowerCase()}`;
}

/** On an MCP endpoint a refusal is a JSON-RPC error without id, as the specification says. */
export const refusalBody = (url: string, message: string, code: Code = 'HUB_REQUEST_INVALID') =>
  isMcp(url)
    ? { jsonrpc: '2.0', id: null, error: { code: -32000, message } }
    : { error: { code, message } };

/** The headers of requests that pages may set. */
const allowedHeaders =
  'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, x-client-name';

/** Headers that repeat a tool's argument (MCP 2026-07-28). */
const paramHeader = /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const maxParamHeaders = 64;

/**
 * CORS (Fetch standard, section 3.2) for the configured origins only: pages of loopback origins may call the hub but not
 * read its answers. The headers are set on the raw response, because the MCP endpoints bypass Fastify's reply.
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
    /** The headers of the answer to a preflight, without those of `mark`. */
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
    /** Whether a request is a preflight of an allowed origin. */
    isPreflight: ({ method, headers }: IncomingMessage) =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      isAllowed(headers.origin),
  };
}

/** Longer URLs and messages are cut: both contain what the client sent. */
const maxChars = 400;
/** Refusals of further addresses in the same second are counted only. */
const maxAddresses = 100;
const intervalMs = 1_000;

type RefusedRequest = {
  readonly address: string | undefined;
  /** Absent: the connection was refused before its first request. */
  readonly method?: string;
  readonly url?: string;
  readonly refusal: GuardRefusal;
};

export type RefusalLogNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  readonly recordRefusal: Needs['recordRefusal'];
};

/** Logs refused requests, at most one line for an address in a second: a client can send thousands of them. */
export function createRefusalLog({ log, clock, recordRefusal }: RefusalLogNeeds) {
  /** The addresses that have a line in this interval. */
  const seen = new Set<string>();
  let endsAt = 0;
  /** Refusals without a line of their own since the last line. */
  let unlogged = 0;
  return ({ address = 'unknown', method, url, refusal }: RefusedRequest): void => {
    const now = clock.monotonic();
    if (now >= endsAt) {
      seen.clear();
      endsAt = now + intervalMs;
    }
    if (seen.has(address) || seen.size >= maxAddresses) return void unlogged++;
    seen.add(address);
    const earlier = unlogged > 0 && { unlogged_before: unlogged };
    const { status } = refusal;
    const request = { method: method && cut(method), url: url && cut(url) };
    const reason = cut(refusal.message);
    log.warn({ address, ...request, status, ...earlier }, reason);
    recordRefusal?.({
      address,
      method: request.method,
      path: request.url,
      status,
      reason,
      unlogged,
    });
    unlogged = 0;
  };
}

const cut = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars)}...` : text);
