import type { Clock } from '#core';
import { encodeCall } from '#jsonrpc';
import type { ListKind, Server } from '#servers';
import { changeMethods } from './changes.ts';
import type { SubscriptionStreams } from './subscription-streams.ts';
import type { SessionState, View } from '../session.ts';

/** Changes of lists within this time reach the clients as one, in milliseconds. */
const changeDelayMs = 100;

export type AnnouncementsNeeds = {
  readonly clock: Pick<Clock, 'after'>;
  readonly sessions: () => readonly SessionState[];
  readonly streams: Pick<SubscriptionStreams, 'listChanged'>;
  /** The server whose older clients share an instance; undefined for any other. */
  readonly ofOlderClients: (instance: Server) => Server | undefined;
};

/** Tells the clients of a view that a list changed, once for many changes. */
export function createAnnouncements(
  needs: AnnouncementsNeeds,
): (view: View, kind: ListKind) => void {
  const { clock, sessions, streams } = needs;
  const due = new Map<View, Set<ListKind>>();

  function tell(view: View, kinds: Iterable<ListKind>): void {
    // Resources and their templates have one method between them.
    const methods = new Map([...kinds].map(kind => [changeMethods[kind], kind] as const));
    // Clients with servers of their own hear from those.
    const tellsSessions = view === 'all' || view.config.instance === 'shared';
    const base = view === 'all' ? undefined : needs.ofOlderClients(view);
    const concerns = (seen: View) =>
      seen === view || (base !== undefined && (seen === base || seen === 'all'));
    for (const [method, kind] of methods) {
      for (const session of sessions())
        if (tellsSessions && concerns(session.view) && session.protocolVersion !== undefined)
          session.outlet(encodeCall(undefined, method));
      streams.listChanged(view, kind);
    }
  }

  return (view, kind) => {
    const kinds = due.get(view);
    if (kinds) {
      kinds.add(kind);
      return;
    }
    due.set(view, new Set([kind]));
    clock.after(changeDelayMs, () => {
      const now = due.get(view) ?? [];
      due.delete(view);
      tell(view, now);
    });
  };
}
