import { type Notification, membersOf, rawText, splice } from '#jsonrpc';
import type { SessionState } from '../session.ts';

type Followed = {
  readonly session: SessionState;
  /** The client's progress token as JSON text. */
  readonly token: string;
  /** Where it is stored, and its key there: the token that the server has. */
  readonly there: Map<number, Followed>;
  readonly serverToken: number;
};

/** Maximum number of tasks per session whose progress is forwarded: as many as a session may have. */
const maxPerSession = 1_000;

/**
 * The progress tokens of tasks. The token of a request that created a task is good for as long as the task, although the
 * request is answered (MCP 2025-11-25, progress).
 */
export function createTaskProgress() {
  /** By the connection to the server, because the next connection counts its tokens anew. */
  const byUpstream = new WeakMap<object, Map<number, Followed>>();
  const bySession = new Map<SessionState, Set<Followed>>();

  return {
    /** Forwards the progress of a task to its session from now on. */
    follow(upstream: object, serverToken: number, session: SessionState, token: string): void {
      const there = byUpstream.get(upstream) ?? new Map<number, Followed>();
      const followed: Followed = { session, token, there, serverToken };
      byUpstream.set(upstream, there.set(serverToken, followed));
      const own = bySession.get(session) ?? new Set<Followed>();
      bySession.set(session, own.add(followed));
      const [oldest] = own.size > maxPerSession ? own : [];
      if (!oldest) return;
      own.delete(oldest);
      oldest.there.delete(oldest.serverToken);
    },
    /** Forwards a progress notification about a task. Others are dropped: their requests are over. */
    progressed(upstream: object, { bytes, params }: Notification): void {
      const span = membersOf(bytes, params)?.get('progressToken');
      const followed = span && byUpstream.get(upstream)?.get(Number(rawText(bytes, span)));
      if (followed) followed.session.send(splice(bytes, [{ span, text: followed.token }]));
    },
    removeAll(session: SessionState): void {
      for (const { there, serverToken } of bySession.get(session) ?? []) there.delete(serverToken);
      bySession.delete(session);
    },
  };
}
