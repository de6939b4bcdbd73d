import type { Clock } from '#core';
import { encodeCall } from '#jsonrpc';
import type { ListKind, Server } from '#servers';
import { changeMethods } from './changes.ts';
import type { SubscriptionStreams } from './subscription-streams.ts';
import type { SessionState, Endpoint } from '../session.ts';

/** Changes within this time are announced together, in milliseconds. */
const changeDelayMs = 100;

export type AnnouncementsNeeds = {
  readonly clock: Pick<Clock, 'after'>;
  readonly sessions: () => readonly SessionState[];
  readonly streams: Pick<SubscriptionStreams, 'listChanged'>;
  /** The server for which clients of 2025-11-25 and older share this instance; undefined for any other instance. */
  readonly ofOlderClients: (instance: Server) => Server | undefined;
};

/** Announces changed lists to the clients of a endpoint, several changes at once. */
export function createAnnouncements(
  needs: AnnouncementsNeeds,
): (endpoint: Endpoint, kind: ListKind) => void {
  const { clock, sessions, streams } = needs;
  const due = new Map<Endpoint, Set<ListKind>>();

  function announce(endpoint: Endpoint, kinds: Iterable<ListKind>): void {
    // Resources and their templates share a method.
    const methods = new Map([...kinds].map(kind => [changeMethods[kind], kind] as const));
    // Sessions with their own instance get the announcements of that instance.
    const tellsSessions = endpoint === 'all' || endpoint.config.instance === 'shared';
    const base = endpoint === 'all' ? undefined : needs.ofOlderClients(endpoint);
    const concerns = (seen: Endpoint) =>
      seen === endpoint || (base !== undefined && (seen === base || seen === 'all'));
    for (const [method, kind] of methods) {
      for (const session of sessions())
        if (tellsSessions && concerns(session.endpoint) && session.protocolVersion !== undefined)
          session.send(encodeCall(undefined, method));
      streams.listChanged(endpoint, kind);
    }
  }

  return (endpoint, kind) => {
    const kinds = due.get(endpoint);
    if (kinds) {
      kinds.add(kind);
      return;
    }
    due.set(endpoint, new Set([kind]));
    clock.after(changeDelayMs, () => {
      const now = due.get(endpoint) ?? [];
      due.delete(endpoint);
      announce(endpoint, now);
    });
  };
}
