import { retryable } from '#core';
import type { Clock } from '#core';
import { membersOf, stringAt } from '#jsonrpc';
import { type Principal, isSamePrincipal, principalKey } from '#policy';
import type { EarlierSession, Endpoint, Router } from '#routing';
import { createReplayBudget } from './event-stream.ts';
import { type EndpointRequest, clientNameIn } from './http-message.ts';
import { type HttpSession, createHttpSession } from './http-session.ts';
import type { SavedSessions } from './saved-sessions.ts';
import type { SealedSession } from './session-id.ts';

export type SessionTable = ReturnType<typeof createSessionTable>;

export type SessionTableOptions = {
  /** Time in ms after which a session without an open stream or request ends. */
  readonly idleMs: number;
  readonly maxSessions: number;
  /** Maximum number of sessions per client. A client that opens more loses one of its own. */
  readonly maxSessionsPerClient?: number;
};

export type SessionTableNeeds = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Saves sessions for the next run. Absent: all sessions end with this run of the hub. */
  readonly saved?: SavedSessions;
};

const defaultMaxPerClient = 1_000;
/** Maximum total size of the events that all streams store for clients that reconnect, in bytes. */
const maxReplayBytes = 64 * 1024 * 1024;

/** Keeps the open sessions of streamable HTTP. */
export function createSessionTable(options: SessionTableOptions, needs: SessionTableNeeds) {
  const { clock, router, saved } = needs;
  const sessions = new Map<string, HttpSession>();
  const budget = createReplayBudget(maxReplayBytes);
  const maxPerClient = options.maxSessionsPerClient ?? defaultMaxPerClient;
  const byClient = new Map<string, Set<HttpSession>>();
  const clientOf = new Map<HttpSession, string>();

  function end(http: HttpSession, reason: string): Promise<void> | undefined {
    sessions.delete(http.id);
    const client = clientOf.get(http) ?? '';
    clientOf.delete(http);
    const own = byClient.get(client);
    own?.delete(http);
    if (own?.size === 0) byClient.delete(client);
    http.close(reason);
    return saved?.forget(http);
  }

  /**
   * Ends an idle session of the client if the client has reached its own maximum. Otherwise, if the maximum of all
   * sessions is open, ends one that was not used after `initialize`, else one of the principal with the most sessions,
   * of its client with the most. Throws HUB_SESSIONS_FULL if all are in use, or all of a principal with the most.
   */
  function makeRoom(client: string, principal: Principal): void {
    const own = byClient.get(client);
    if (own && own.size >= maxPerClient)
      return endOne(
        idlest(own),
        `${own.size} sessions of this client are open and all in use. End some, or raise MAX_SESSIONS_PER_CLIENT`,
      );
    if (sessions.size < options.maxSessions) return;
    const idle = idlest(sessions.values());
    if (!idle?.isUsed)
      return endOne(idle, `${sessions.size} sessions are open and all in use. Try again later`);
    const { owner, idle: greedy } = greediest();
    const full = `${sessions.size} sessions are open, and all of this caller are in use: it has more than any other. End some, or try again later`;
    endOne(greedy ?? (owner === principalKey(principal) ? undefined : idle), full);
  }

  /** Ends the session. Throws HUB_SESSIONS_FULL with this message if there is none to end. */
  function endOne(http: HttpSession | undefined, full: string): void {
    if (http) return void end(http, 'too many sessions');
    throw retryable('HUB_SESSIONS_FULL', full);
  }

  /** Returns the principal with the most sessions, and its session to end: if possible one of its client with most. */
  function greediest() {
    const ofPrincipals = Object.groupBy(byClient.values(), ([one]) =>
      one ? principalKey(one.session.principal) : '',
    );
    const totalOf = (shares: Shares = []) => shares.reduce((sum, { size }) => sum + size, 0);
    const [owner, shares = []] =
      largest(Object.entries(ofPrincipals), ([, own]) => totalOf(own)) ?? [];
    const most = largest(shares, ({ size }) => size) ?? [];
    const idle = idlest(most) ?? idlest(shares.flatMap(share => [...share]));
    return { owner, idle };
  }

  function add(
    id: string,
    { headers, endpoint, principal }: EndpointRequest,
    client: string,
    earlier?: EarlierSession,
  ): HttpSession {
    const http = createHttpSession(
      id,
      endpoint,
      (send, http) =>
        router.open(endpoint, principal, send, {
          isConnected: () => http().active > 0,
          clientRequestsChanged: () => saved?.touch(http()),
          earlier,
          clientName: clientNameIn(headers),
        }),
      { clock, budget },
      earlier !== undefined,
    );
    sessions.set(id, http);
    const own = byClient.get(client) ?? new Set();
    byClient.set(client, own.add(http));
    clientOf.set(http, client);
    return http;
  }

  return {
    get size() {
      return sessions.size;
    },
    find(id: string): HttpSession | undefined {
      const http = sessions.get(id);
      if (http) http.isUsed = true;
      return http;
    },
    /** Opens a session. Throws HUB_SESSIONS_FULL if the maximum is open and all are in use. */
    open(request: EndpointRequest, sealed: SealedSession): HttpSession {
      const client = clientKey(sealed, request);
      makeRoom(client, request.principal);
      const id = saved?.seal(request.endpoint, request.principal, sealed);
      const http = add(id ?? needs.newId(), request, client);
      if (id !== undefined) saved?.track(http);
      return http;
    },
    /** Resumes a session of an earlier run of the hub; undefined if there is no such session. Throws like `open`. */
    resume(id: string, request: EndpointRequest): HttpSession | undefined {
      const { endpoint, principal } = request;
      const earlier = saved?.find(id, endpoint, principal);
      if (!saved || !earlier) return undefined;
      const client = clientKey(earlier, request);
      makeRoom(client, principal);
      const http = add(id, request, client, earlier);
      saved.track(http);
      saved.touch(http);
      if (endpoint === 'all')
        http.ready = saved.listed.then(() => {
          http.ready = undefined;
        });
      return http;
    },
    /** Ends a session. Resolves when no later run can resume it; returns undefined if none could. */
    end,
    /** Ends the sessions of an endpoint, or all sessions. */
    endAll(reason: string, endpoint?: Endpoint): void {
      for (const http of Array.from(sessions.values()))
        if (endpoint === undefined || http.endpoint === endpoint) void end(http, reason);
      if (endpoint !== undefined && endpoint !== 'all') saved?.forgetServer(endpoint.config.name);
    },
    /** Ends the sessions of a principal. */
    endOf(principal: Principal, reason: string): void {
      for (const http of Array.from(sessions.values()))
        if (isSamePrincipal(http.session.principal, principal)) void end(http, reason);
    },
    /** Counts a request or an open stream of a session until `release`. */
    use(http: HttpSession): void {
      http.active++;
      http.usedAt = clock.monotonic();
    },
    /** Ends the count of `use`, and saves the session for the next run if its settings have changed. */
    release(http: HttpSession): void {
      http.active--;
      http.usedAt = clock.monotonic();
      saved?.touch(http);
    },
    /** Ends sessions that were idle for `idleMs`, and deletes the events of streams that ended long ago. */
    expire(): void {
      saved?.refresh();
      const now = clock.monotonic();
      for (const http of sessions.values()) {
        http.expire();
        if (http.active === 0 && now - http.usedAt > options.idleMs)
          void end(http, 'the session was idle');
      }
    },
    keepAlive(): void {
      for (const http of sessions.values()) http.keepAlive();
    },
  };
}

/** Returns the session to end, of those not in use: one that was never used, else the least recently used. */
function idlest(all: Iterable<HttpSession>): HttpSession | undefined {
  let found: HttpSession | undefined;
  for (const http of all) {
    if (http.active > 0) continue;
    if (!found || (found.isUsed && !http.isUsed)) found = http;
    else if (found.isUsed === http.isUsed && http.usedAt < found.usedAt) found = http;
  }
  return found;
}

type Shares = readonly ReadonlySet<HttpSession>[];

/** Returns the first element with the largest size; undefined if there are none. */
function largest<T>(all: readonly T[], sizeOf: (one: T) => number): T | undefined {
  const sizes = all.map(sizeOf);
  return all[sizes.indexOf(Math.max(...sizes))];
}

/**
 * Returns the key under which sessions of a client are counted: its principal, the name that it gives itself, and its
 * program.
 */
function clientKey(
  { client }: SealedSession,
  { headers, principal }: Pick<EndpointRequest, 'headers' | 'principal'>,
): string {
  const bytes = Buffer.from(client.clientInfo);
  const members = membersOf(bytes, { start: 0, end: bytes.length });
  const name = stringAt(bytes, members?.get('name'));
  return JSON.stringify([principalKey(principal), name, headers['user-agent']]);
}
