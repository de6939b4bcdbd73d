import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Code } from '#core';
import type { Principal } from '#policy';
import type { Cors } from './cors.ts';
import type { Guard, Scope } from './guard.ts';
import { guardedRequest } from './guarded-request.ts';
import type { Login } from './login.ts';
import type { Peers } from './peers.ts';
import type { RefusalLog } from './refusal-log.ts';

type Needs = {
  readonly guard: Guard;
  readonly peers: Pick<Peers, 'of'>;
  readonly cors: Pick<Cors, 'isPreflight'>;
  readonly login: Pick<Login, 'throttle'>;
  readonly logRefusal: RefusalLog;
};

export type Admission = ReturnType<typeof createAdmission>;

/** Asks the guard about requests to routes, and answers refused ones. */
export function createAdmission(
  options: { readonly token: string | undefined },
  { guard, peers, cors, login, logRefusal }: Needs,
) {
  const check = ({ raw, url }: FastifyRequest, scope: Scope) =>
    guard.check(guardedRequest(raw, peers.of(raw.socket), isOfDashboard(url)), scope);
  /** Principals of the requests that are being answered. */
  const principals = new WeakMap<IncomingMessage, Principal>();
  const scopeOf = ({ routeOptions }: FastifyRequest) => routeOptions.config.scope ?? 'call';

  /** How long a client that sent a wrong key must wait, in milliseconds. The right key is always admitted. */
  function waitOf(request: FastifyRequest, isForOwner: boolean): number {
    if (request.headers.authorization === undefined) return 0;
    // A client may send the token for calls everywhere.
    if (options.token !== undefined && isForOwner) return 0;
    const waitMs = login.throttle.waitMs(request.ip);
    login.throttle.failed(request.ip, 'key');
    return waitMs;
  }

  return {
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
      if (principal) principals.set(request.raw, principal);
      // Browsers send no token with a preflight.
      if (!refusal || (refusal.status === 401 && cors.isPreflight(request.raw))) return false;
      const isForOwner = scope === 'administer' && check(request, 'call').refusal === undefined;
      // The dashboard says how to log in.
      if ((refusal.status === 401 || isForOwner) && isOfDashboard(request.url)) return false;
      // The query may hold the secret of a login link.
      const path = request.url.split('?')[0] ?? '';
      logRefusal({ address: request.ip, method: request.method, url: path, refusal });
      const isUnauthorized = refusal.status === 401;
      const waitMs = isUnauthorized && scope === 'administer' ? waitOf(request, isForOwner) : 0;
      if (isUnauthorized)
        reply.header('www-authenticate', scope === 'call' ? 'Bearer' : 'Bearer scope="administer"');
      if (waitMs > 0) reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
      const code = isForOwner ? 'HUB_OWNER_ONLY' : 'HUB_REQUEST_INVALID';
      reply
        .code(waitMs > 0 ? 429 : refusal.status)
        .send(refusalBody(request.url, refusal.message, code));
      return true;
    },
  };
}

/** True for paths whose access the dashboard checks itself, because it has a login page. */
const isOfDashboard = (url: string): boolean => /^\/dashboard([/?]|$)/.test(url);

export const isMcp = (url: string): boolean => /^\/(mcp|sse|messages)(\/|\?|$)/.test(url);

/** On an MCP endpoint a refusal is a JSON-RPC error without id, as the specification says. */
export function refusalBody(
  url: string,
  message: string,
  code: Code = 'HUB_REQUEST_INVALID',
): object {
  return isMcp(url)
    ? { jsonrpc: '2.0', id: null, error: { code: -32000, message } }
    : { error: { code, message } };
}
