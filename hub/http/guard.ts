import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { NamedClients, PresentedToken } from '#access';
import type { Principal } from '#policy';
import {
  type GuardRefusal,
  type OriginOptions,
  type RequestOrigin,
  createOrigins,
} from './origins.ts';
import type { Peer } from './peers.ts';

/**
 * Scope of a route. `call`: MCP and read-only views. `administer`: everything that changes the hub or its servers, or
 * shows what they were sent; such a route has `config: { scope: 'administer' }`. `public`: the login of a program, which
 * has no credentials yet (`routes/authorization.ts`).
 */
export type Scope = 'call' | 'administer' | 'public';

export const administered = { config: { scope: 'administer' } } as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly scope?: Scope;
  }
}

export type GuardOptions = OriginOptions & {
  /** ROUTER_TOKEN: the bearer token of calls. It gives no administration. */
  readonly token: string | undefined;
  /** The bearer token of administration, which also makes calls. Undefined: no key gives administration. */
  readonly ownerKey: string | undefined;
  /** `off` refuses administration to everyone, with any credentials. */
  readonly administration: 'on' | 'off';
};

/** The token that calls need although ROUTER_TOKEN is not set, and the reason as a clause. */
export type CallToken = { readonly token: string; readonly why: string };

export type GuardNeeds = {
  /** True if the headers contain the cookie of a dashboard login. */
  readonly isLoggedIn: (headers: IncomingHttpHeaders) => boolean;
  /**
   * Returns the token that calls need; undefined if they need none. Called for every request, because a reload can
   * change it.
   */
  readonly callToken: () => CallToken | undefined;
  /** The clients by name; undefined if there are none. Used for every request. */
  readonly clients: Pick<NamedClients, 'find' | 'isRequired' | 'principalOf'> | undefined;
};

/** The parts of a request that the guard checks, from each reader of requests (plain posts, Node's HTTP, upgrades). */
export type GuardedRequest = RequestOrigin & {
  /** The bearer token. It depends only on the head, so it may be cached with a parsed head. */
  readonly credentials: PresentedToken | undefined;
  readonly peer: Peer;
};

/** The principal of a request, or the reason to refuse it. */
type GuardDecision =
  | { readonly principal: Principal; readonly refusal: undefined }
  | { readonly principal: undefined; readonly refusal: GuardRefusal };

export type Guard = ReturnType<typeof createGuard>;

/**
 * Creates the guard, which decides about every request. A web page can reach a local port under a host name that
 * resolves to 127.0.0.1 (DNS rebinding), so the guard checks Host and Origin first (MCP 2025-11-25, transports,
 * security warning), then the credentials that the scope needs. The token of a client by name makes the caller that
 * client. Without a token, calls are open to the hub's own user on loopback. An unknown bearer token is ignored,
 * because clients keep a token in their files after the setting is removed. The token of a revoked client is refused:
 * its owner must not continue as another principal.
 */
export function createGuard(
  options: GuardOptions,
  { isLoggedIn = () => false, callToken = () => undefined, clients }: Partial<GuardNeeds> = {},
) {
  const refuseOrigin = createOrigins(options);
  const ownerKey = bearerDigest(options.ownerKey);
  const token = bearerDigest(options.token);
  const owner = local('owner', options.administration === 'on');
  const tokenHolder = local('token');
  const anyLocal = local('local');
  // Principal of requests to routes of the scope `public`, which make no calls.
  const anybody = local('anybody');
  let madeToken: string | undefined;
  let madeDigest: Buffer | undefined;

  /** Admits the client that a certificate names. Refuses the request if it also has a token of another client. */
  function decideCertified(name: string, { credentials }: GuardedRequest): GuardDecision {
    const known = credentials && clients?.find(credentials);
    const isOwn = known ? known.principal?.name === name : isSame(credentials, token ?? madeDigest);
    if (credentials && !isOwn)
      return refused(
        403,
        `the certificate of this connection names the client ${JSON.stringify(name)}, and the bearer token is not of that client. Send only one of them, or both of one client`,
      );
    return admitted(clients?.principalOf(name) ?? unlistedClient(name));
  }

  function decideCall(request: GuardedRequest): GuardDecision {
    const { credentials, headers, peer } = request;
    const known = credentials && clients?.find(credentials);
    // A client's token is not compared with the other tokens: that would take longer than the look-up by digest.
    if (known?.principal && peer.certificate === undefined) return admitted(known.principal);
    if (!known?.principal && isSame(credentials, ownerKey)) return owner;
    if (known && !known.principal) return revoked(known.name);
    const made = token ? undefined : callToken();
    if (made && made.token !== madeToken) {
      madeToken = made.token;
      madeDigest = bearerDigest(made.token);
    }
    if (peer.certificate !== undefined)
      return isLoggedIn(headers) && peer.kind !== 'refused'
        ? owner
        : decideCertified(peer.certificate, request);
    if (token || made || clients?.isRequired === true) {
      if (isSame(credentials, token ?? (made && madeDigest))) return tokenHolder;
      // A login from another user's process allows calls, but no administration (see below).
      if (isLoggedIn(headers)) return peer.kind === 'refused' ? tokenHolder : owner;
      return refused(401, whyUnauthorized(made));
    }
    if (peer.kind === 'refused')
      return refusedPeer(
        peer,
        "without ROUTER_TOKEN only the hub's own user may call it. Set ROUTER_TOKEN, and send it as bearer token",
      );
    // Clients also send the generated token when calls need none, and keep the sessions that they opened with it.
    if (isSame(credentials, madeDigest)) return tokenHolder;
    return isLoggedIn(headers) ? owner : anyLocal;
  }

  function decideAdministration(request: GuardedRequest): GuardDecision {
    const { credentials, headers, peer } = request;
    if (options.administration === 'off')
      return refused(
        403,
        'administration is "off" in this hub\'s settings: change its files instead',
      );
    if (isSame(credentials, ownerKey)) return owner;
    const known = credentials && clients?.find(credentials);
    const isOwnToken = known?.name === (peer.certificate ?? known?.name);
    if (isOwnToken && known?.principal?.grants.administer === true)
      return admitted(known.principal);
    if (isLoggedIn(headers)) {
      if (peer.kind !== 'refused') return owner;
      // Browsers send cookies to all ports of a host, so a server of another user on this host gets them too.
      return refusedPeer(peer, "a login is for browsers of the hub's own user");
    }
    if (peer.certificate !== undefined) {
      const decision = decideCertified(peer.certificate, request);
      if (decision.refusal || decision.principal.grants.administer) return decision;
    }
    return refused(
      401,
      "this needs the owner's key as bearer token, or a login to the dashboard. The `agenthub` command reads the key by itself; `agenthub open` logs a browser in",
    );
  }

  function whyUnauthorized(made: CallToken | undefined): string {
    if (made)
      return `Authorization must be "Bearer" and the hub's token for calls: ${made.why}. Run \`agenthub connect\` again, which writes the token into the files of clients`;
    return token
      ? 'Authorization must be "Bearer" and the hub\'s token'
      : 'Authorization must be "Bearer" and the token of a client: the config requires tokens. Run `agenthub connect` again, which writes one into the file of the client, or make one with `agenthub token create NAME`';
  }

  /** Decides about a request. Called for every request, immediately before its execution. Do not cache the decision. */
  function check(request: GuardedRequest, scope: Scope): GuardDecision {
    const refusal = refuseOrigin(request);
    if (refusal) return { principal: undefined, refusal };
    if (scope === 'public') return anybody;
    return scope === 'call' ? decideCall(request) : decideAdministration(request);
  }

  return {
    check,
    /** True if calls need a token now. */
    needsToken: (): boolean =>
      token !== undefined || clients?.isRequired === true || callToken() !== undefined,
    /**
     * Returns the principal of a call; undefined if the guard refuses it. Call this for every request, like `check`.
     */
    admit: (request: GuardedRequest): Principal | undefined => check(request, 'call').principal,
  };
}

/** Reads the parts of a request of Node's HTTP that the guard checks. */
export function guardedRequest(
  { method = '', url = '', headers, rawHeaders }: IncomingMessage,
  peer: Peer,
  takesForms: GuardedRequest['takesForms'] = false,
): GuardedRequest {
  let hostCount = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hostCount++;
  }
  const credentials = credentialsOf(headers);
  return { method, target: url, headers, hostCount, credentials, peer, takesForms };
}

/** Placeholder for credentials of a scheme other than Bearer: no token has this digest. */
const noBearer: PresentedToken = { digest: randomBytes(32) };

/** Reads the token in an Authorization header, whose scheme may be in any case (RFC 9110, section 11.1). */
export function credentialsOf({ authorization }: IncomingHttpHeaders): PresentedToken | undefined {
  if (authorization === undefined) return undefined;
  const [, token] = /^bearer +(.+)$/i.exec(authorization) ?? [];
  return token === undefined ? noBearer : { digest: digest(token) };
}

/** Digests have equal lengths, so the time of a comparison reveals nothing about the token. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const admitted = (principal: Principal): GuardDecision => ({ principal, refusal: undefined });

const local = (name: string, administer = false): GuardDecision =>
  admitted({ kind: 'local', name, grants: { administer } });

const unlistedClient = (name: string): Principal => ({
  kind: 'client',
  name,
  grants: { administer: false },
});

const refused = (status: GuardRefusal['status'], message: string): GuardDecision => ({
  principal: undefined,
  refusal: { status, message },
});

const refusedPeer = (
  { why, isGone = false }: Extract<Peer, { kind: 'refused' }>,
  rule: string,
): GuardDecision => ({
  principal: undefined,
  refusal: { status: 403, message: `${why}, and ${rule}`, ...(isGone && { isPeerGone: true }) },
});

const revoked = (name: string) =>
  refused(
    401,
    `the token of ${name} was revoked, was replaced or has expired. Log in again, run \`agenthub connect\` again, or make another one with \`agenthub token create ${name}\``,
  );

const bearerDigest = (token: string | undefined) =>
  token === undefined ? undefined : digest(token);

const isSame = (presented: PresentedToken | undefined, expected: Buffer | undefined): boolean =>
  presented !== undefined && expected !== undefined && timingSafeEqual(presented.digest, expected);
