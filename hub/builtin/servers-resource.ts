import { type Clock, type JsonObject, createTicker } from '#core';
import type { Server, Servers } from '#servers';
import type { BuiltinResource } from './builtin-server.ts';

/** Delay between a change and its notification, in milliseconds. A server changes several times while it starts. */
const changeDelayMs = 500;
const mimeType = 'application/json';

/** Creates the resource `hub://servers`: the servers of the hub and their states (spec 5.5). */
export function createServersResource(
  servers: Pick<Servers, 'all' | 'changed' | 'removed' | 'instances'>,
  snapshot: () => JsonObject,
  clock: Pick<Clock, 'after'>,
): BuiltinResource {
  const uri = 'hub://servers';
  return {
    uri,
    description: JSON.stringify({
      uri,
      name: 'servers',
      title: 'Servers of this hub',
      description: 'The servers behind this hub, their states and what each offers.',
      mimeType,
    }),
    mimeType,
    read: () => JSON.stringify(snapshot()),
    watch(changed) {
      const heard = new Map<Server, Disposable>();
      const due = createTicker(clock, changeDelayMs, () => {
        changed();
        return false;
      });
      const hear = (server: Server) => {
        if (!heard.has(server)) heard.set(server, server.changed(due.start));
      };
      const unhear = (server: Server) => {
        heard.get(server)?.[Symbol.dispose]();
        heard.delete(server);
      };
      const hearAll = () => {
        for (const server of servers.all)
          for (const one of [server, ...servers.instances.list(server)]) hear(one);
        due.start();
      };
      hearAll();
      const watched = [
        servers.changed(hearAll),
        servers.removed(unhear),
        servers.instances.opened(({ server }) => hear(server)),
        servers.instances.closed(unhear),
      ];
      return {
        [Symbol.dispose]() {
          for (const one of [due, ...watched, ...heard.values()]) one[Symbol.dispose]();
        },
      };
    },
  };
}
