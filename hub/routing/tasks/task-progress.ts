import { type Notification, membersOf, rawText, splice } from '#jsonrpc';
import type { SessionState } from '../session.ts';

type Followed<Task> = {
  readonly session: SessionState;
  readonly task: Task;
  /** The client's progress token as JSON text. */
  readonly token: string;
  /** The map of the connection that contains this entry, under the key `serverToken`. */
  readonly there: Map<number, Followed<Task>>;
  readonly serverToken: number;
};

/**
 * Maximum number of tasks per session whose progress is forwarded, equal to the maximum number of tasks per session.
 */
const maxPerSession = 1_000;

/**
 * Stores the progress tokens of tasks. The token of a request that created a task stays valid as long as the task,
 * although the request is answered (MCP 2025-11-25, progress).
 */
export function createTaskProgress<Task>() {
  /** Tokens by connection to the server. Each connection starts its tokens anew. */
  const byUpstream = new WeakMap<object, Map<number, Followed<Task>>>();
  const bySession = new Map<SessionState, Set<Followed<Task>>>();

  return {
    /** Starts to forward the progress of a task to its session. */
    follow(
      upstream: object,
      serverToken: number,
      session: SessionState,
      token: string,
      task: Task,
    ): void {
      const there = byUpstream.get(upstream) ?? new Map<number, Followed<Task>>();
      const followed: Followed<Task> = { session, task, token, there, serverToken };
      byUpstream.set(upstream, there.set(serverToken, followed));
      const own = bySession.get(session) ?? new Set<Followed<Task>>();
      bySession.set(session, own.add(followed));
      const [oldest] = own.size > maxPerSession ? own : [];
      if (!oldest) return;
      own.delete(oldest);
      oldest.there.delete(oldest.serverToken);
    },
    /**
     * Forwards a progress notification about a task, if the session may get it. Drops any other notification: its
     * request has ended.
     */
    progressed(
      upstream: object,
      { bytes, params }: Notification,
      mayHear: (session: SessionState, task: Task) => boolean,
    ): void {
      const span = membersOf(bytes, params)?.get('progressToken');
      const followed = span && byUpstream.get(upstream)?.get(Number(rawText(bytes, span)));
      if (!followed || !mayHear(followed.session, followed.task)) return;
      followed.session.send(splice(bytes, [{ span, text: followed.token }]));
    },
    removeAll(session: SessionState): void {
      for (const { there, serverToken } of bySession.get(session) ?? []) there.delete(serverToken);
      bySession.delete(session);
    },
  };
}
