import type { Clock } from '#core';
import { encodeCall } from '#jsonrpc';
import type { ListKind, Server } from '#servers';
import { changeMethods } from './changes.ts';
import type { SubscriptionStreams } from './subscription-streams.ts';
import type { SessionState, View } from '../session.ts';

/** Changes within this time are announced together, in milliseconds. */
const changeDelayMs = 100;

export type AnnouncementsNeeds = {
  readonly clock: Pick<Clock, 'after'>;
  readonly sessions: () => readonly SessionState[];
  readonly streams: Pick<SubscriptionStreams, 'listChanged'>;
  /** The server for which clients of 2025-11-25 and older share this instance; undefined for any other instance. */
  readonly ofOlderClients: (instance: Server) => Server | undefined;
};

/** Announces changed lists to the clients of a view, several changes at once. */
export function createAnnouncements(
  needs: AnnouncementsNeeds,
): (view: View, kind: ListKind) => void {
  const { clock, sessions, streams } = needs;
  const due = new Map<View, Set<ListKind>>();

  function announce(view: View, kinds: Iterable<ListKind>): void {
    // Resources and their templates share a method.
    const methods = new Map([...kinds].map(kind => [changeMethods[kind], kind] as const));
    // Sessions with their own instance get the announcements of that instance.
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
      announce(view, now);
    });
  };
}
