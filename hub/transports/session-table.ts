import { type Clock, HubError } from '#core';
import type { Principal } from '#policy';
import type { EarlierSession, Router, Endpoint } from '#routing';
import { type HttpSession, createHttpSession } from './http-session.ts';
import { createReplayBudget } from './replay-budget.ts';
import type { SavedSessions } from './saved-sessions.ts';
import type { SealedSession } from './session-id.ts';

/** The open sessions of streamable HTTP. */
export interface SessionTable {
  readonly size: number;
  find(id: string): HttpSession | undefined;
  /**
   * Opens a session of the principal. `client` identifies the client, whose sessions are counted. Throws
   * HUB_SESSIONS_FULL if the maximum is open and all are in use.
   */
  open(
    endpoint: Endpoint,
    principal: Principal,
    client: string,
    sealed: SealedSession,
  ): HttpSession;
  /**
   * Resumes a session of an earlier run of the hub; undefined if there is none of that id. `clientOf` identifies its
   * client. Throws as `open` does.
   */
  resume(
    id: string,
    endpoint: Endpoint,
    principal: Principal,
    clientOf: (clientInfo: string) => string,
  ): HttpSession | undefined;
  /** Resolves when no later run of the hub can resume the session; undefined if none could. */
  end(http: HttpSession, reason: string): Promise<void> | undefined;
  /** Ends the sessions of a endpoint, or all. */
  endAll(reason: string, endpoint?: Endpoint): void;
  /** The session may have changed in what the next run of the hub must know. */
  touch(http: HttpSession): void;
  /** Ends sessions that were idle for `idleMs`, and forgets old streams. */
  expire(): void;
  keepAlive(): void;
}

export type SessionTableOptions = {
  /** A session without a stream or a request for this long ends. */
  readonly idleMs: number;
  readonly maxSessions: number;
  /** A client that opens more sessions loses its own. */
  readonly maxSessionsPerClient?: number;
};

export type SessionTableNeeds = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Absent: all sessions end with this run of the hub. */
  readonly saved?: SavedSessions;
};

const defaultMaxPerClient = 1_000;
/** Events that all streams together keep for clients that reconnect, in bytes. */
const maxReplayBytes = 64 * 1024 * 1024;

export function createSessionTable(
  options: SessionTableOptions,
  needs: SessionTableNeeds,
): SessionTable {
  const { clock, saved } = needs;
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
   * Ends a session if the maximum is open: one of the client itself if it has its share, else one that was not used
   * after `initialize`, else one of the client with the most sessions.
   */
  function makeRoom(client: string): void {
    const own = byClient.get(client);
    if (own && own.size >= maxPerClient)
      return endOne(idlest(own), `${own.size} sessions of this client`);
    if (sessions.size < options.maxSessions) return;
    const idle = idlest(sessions.values());
    const greedy = idle?.isUsed ? idlestOfGreediest() : undefined;
    endOne(greedy ?? idle, `${sessions.size} sessions`);
  }

  function endOne(http: HttpSession | undefined, open: string): void {
    if (http) return void end(http, 'too many sessions');
    throw new HubError('HUB_SESSIONS_FULL', `${open} are open and all in use`, {
      data: { retryable: true },
    });
  }

  function idlestOfGreediest(): HttpSession | undefined {
    let most: ReadonlySet<HttpSession> = new Set();
    for (const own of byClient.values()) if (own.size > most.size) most = own;
    return idlest(most);
  }

  function add(
    id: string,
    endpoint: Endpoint,
    principal: Principal,
    client: string,
    earlier?: EarlierSession,
  ): HttpSession {
    const http = createHttpSession(
      id,
      endpoint,
      (send, http) =>
        needs.router.open(endpoint, principal, send, {
          isConnected: () => http().active > 0,
          clientRequestsChanged: () => saved?.touch(http()),
          earlier,
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
    find(id) {
      const http = sessions.get(id);
      if (http) http.isUsed = true;
      return http;
    },
    open(endpoint, principal, client, sealed) {
      makeRoom(client);
      const id = saved?.seal(endpoint, principal, sealed);
      const http = add(id ?? needs.newId(), endpoint, principal, client);
      if (id !== undefined) saved?.track(http);
      return http;
    },
    resume(id, endpoint, principal, clientOf) {
      const earlier = saved?.find(id, endpoint, principal);
      if (!saved || !earlier) return undefined;
      const client = clientOf(earlier.client.clientInfo);
      makeRoom(client);
      const http = add(id, endpoint, principal, client, earlier);
      saved.track(http);
      saved.touch(http);
      if (endpoint === 'all')
        http.ready = saved.listed.then(() => {
          http.ready = undefined;
        });
      return http;
    },
    end,
    endAll(reason, endpoint) {
      for (const http of Array.from(sessions.values()))
        if (endpoint === undefined || http.endpoint === endpoint) void end(http, reason);
      if (endpoint !== undefined && endpoint !== 'all') saved?.forgetServer(endpoint.config.name);
    },
    touch: http => saved?.touch(http),
    expire() {
      saved?.refresh();
      const now = clock.monotonic();
      for (const http of sessions.values()) {
        http.expire();
        if (http.active === 0 && now - http.usedAt > options.idleMs)
          void end(http, 'the session was idle');
      }
    },
    keepAlive() {
      for (const http of sessions.values()) http.keepAlive();
    },
  };
}

/** Among the sessions that are not in use, one that never was, or else the one used least recently. */
function idlest(all: Iterable<HttpSession>): HttpSession | undefined {
  let found: HttpSession | undefined;
  for (const http of all) {
    if (http.active > 0) continue;
    if (!found || (found.isUsed && !http.isUsed)) found = http;
    else if (found.isUsed === http.isUsed && http.usedAt < found.usedAt) found = http;
  }
  return found;
}
