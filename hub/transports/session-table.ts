import { type Clock, HubError } from '#core';
import type { Router, View } from '#routing';
import { type HttpSession, createHttpSession } from './http-session.ts';
import { createReplayBudget } from './replay-budget.ts';

/** The sessions that are open over streamable HTTP. */
export interface SessionTable {
  readonly size: number;
  find(id: string): HttpSession | undefined;
  /** Throws HUB_SESSIONS_FULL where as many are open as may be, and all are in use. */
  open(view: View): HttpSession;
  end(http: HttpSession, reason: string): void;
  /** Ends those of a view, or all. */
  endAll(reason: string, view?: View): void;
  /** Ends those without connection and request for `idleMs`, and forgets what is kept for too long. */
  expire(): void;
  keepAlive(): void;
}

export type SessionTableOptions = {
  /** A session without connection and request for this long is closed. */
  readonly idleMs: number;
  readonly maxSessions: number;
};

export type SessionTableNeeds = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly newId: () => string;
};

/** What the streams of all sessions may keep for clients that come back, in bytes. */
const maxReplayBytes = 64 * 1024 * 1024;

export function createSessionTable(
  options: SessionTableOptions,
  needs: SessionTableNeeds,
): SessionTable {
  const { clock } = needs;
  const sessions = new Map<string, HttpSession>();
  const budget = createReplayBudget(maxReplayBytes);

  function end(http: HttpSession, reason: string): void {
    sessions.delete(http.id);
    http.close(reason);
  }

  /** Makes room by ending the session that has been idle longest. */
  function makeRoom(): void {
    if (sessions.size < options.maxSessions) return;
    let oldest: HttpSession | undefined;
    for (const http of sessions.values())
      if (http.active === 0 && (!oldest || http.usedAt < oldest.usedAt)) oldest = http;
    if (!oldest)
      throw new HubError('HUB_SESSIONS_FULL', `${sessions.size} sessions are open and all in use`, {
        data: { retryable: true },
      });
    end(oldest, 'too many sessions');
  }

  return {
    get size() {
      return sessions.size;
    },
    find: id => sessions.get(id),
    open(view) {
      makeRoom();
      const http = createHttpSession(
        needs.newId(),
        view,
        (outlet, isConnected) => needs.router.open(view, outlet, isConnected),
        { clock, budget },
      );
      sessions.set(http.id, http);
      return http;
    },
    end,
    endAll(reason, view) {
      for (const http of Array.from(sessions.values()))
        if (view === undefined || http.view === view) end(http, reason);
    },
    expire() {
      const now = clock.monotonic();
      for (const http of sessions.values()) {
        http.expire();
        if (http.active === 0 && now - http.usedAt > options.idleMs)
          end(http, 'the session was idle');
      }
    },
    keepAlive() {
      for (const http of sessions.values()) http.keepAlive();
    },
  };
}
