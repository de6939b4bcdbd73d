import type { Naming } from '#config';
import type { Server } from '#servers';
import { keepsSessions } from './bridge/eras.ts';
import type { Call } from './call.ts';
import { instanceKeyOf } from './client-identity.ts';
import { type Offering, type OfferingNeeds, createOffering } from './lists.ts';
import type { OlderClients } from './older-clients.ts';
import type { InstanceHolder, SessionState } from './session.ts';
import type { StatelessClients } from './stateless-clients.ts';

/** The endpoint of all servers for clients whose instances offer other items than their servers. */
export interface OwnOfferings {
  /** The offering for the client of a call; undefined if it is the same as for all clients. */
  of(call: Call): Offering | undefined;
  /** An instance was opened for a session, or for another holder of instances. */
  opened(base: Server, instance: Server, session: object): InstanceHolder | undefined;
  /** Called when an instance of the holder offers other items than its server. */
  differs(holder: InstanceHolder): void;
  /** Called when clients of 2025-11-25 and older share another instance. */
  olderChanged(): void;
}

export type OwnOfferingsNeeds = {
  readonly offering: OfferingNeeds;
  readonly sessions: () => readonly SessionState[];
  readonly statelessClients: StatelessClients;
  readonly olderClients: OlderClients;
};

export function createOwnOfferings(naming: () => Naming, needs: OwnOfferingsNeeds): OwnOfferings {
  const { statelessClients, olderClients, sessions } = needs;

  function build(holder: InstanceHolder): void {
    holder.own?.catalog[Symbol.dispose]();
    const isOlder = statelessClients.find(holder) === undefined;
    const instanceOf = (server: Server) =>
      holder.instances.get(server) ?? (isOlder ? olderClients.find(server) : undefined);
    holder.own = createOffering(naming, needs.offering, instanceOf);
  }

  function olderChanged(): void {
    for (const holder of [olderClients.holder, ...sessions()]) if (holder.own) build(holder);
  }

  return {
    of(call) {
      if (keepsSessions(call)) return call.session.own ?? olderClients.holder.own;
      return statelessClients.hasOfferings
        ? statelessClients.offeringOf(instanceKeyOf(call))
        : undefined;
    },
    opened(base, instance, session) {
      const isOlder = session === olderClients.holder;
      const holder = isOlder
        ? olderClients.holder
        : (sessions().find(one => one === session) ?? statelessClients.find(session));
      holder?.instances.set(base, instance);
      if (isOlder) olderChanged();
      else if (holder?.own) build(holder);
      return holder;
    },
    differs(holder) {
      if (!holder.own) build(holder);
    },
    olderChanged,
  };
}
