import type { Activity } from '#activity';
import type { Event } from '#core';
import type { Jobs } from '#jobs';
import type { Server, Servers } from '#servers';

/** An updatable part of pages, by the name of its event. */
export type Part =
  'health' | 'stats' | 'activity' | 'server' | 'offers' | 'log' | 'sessions' | 'caches' | 'install';

/** Reports which parts of open pages have changed. */
export interface Changes {
  /** Calls `changed` for each change. `name`: the server of the page; those of other servers are left out. */
  listen(name: string | undefined, changed: (part: Part) => void): Disposable;
  /** Reports a change that has no event. */
  note(part: Part): void;
}

/** Subscribes to events of the hub only while a page is open. */
export function createChanges({
  servers,
  activity,
  jobs,
}: {
  readonly servers: Servers;
  readonly activity: Pick<Activity, 'changed'>;
  readonly jobs: Pick<Jobs, 'changed'>;
}): Changes {
  const pages = new Set<(part: Part, server?: Server) => void>();
  let subscriptions: DisposableStack | undefined;

  const tell = (parts: readonly Part[], server?: Server) => {
    for (const page of pages) for (const part of parts) page(part, server);
  };

  function subscribe(): DisposableStack {
    const all = new DisposableStack();
    const byServer = new Map<Server, DisposableStack>();
    const subscribeToServers = () => {
      const present = new Set(servers.all);
      for (const [server, subscribed] of byServer)
        if (!present.has(server)) {
          subscribed.dispose();
          byServer.delete(server);
        }
      for (const server of present)
        if (!byServer.has(server)) byServer.set(server, subscribeTo(server));
    };
    subscribeToServers();
    all.use(
      servers.changed(() => {
        subscribeToServers();
        tell(['health']);
      }),
    );
    all.use(jobs.changed(() => tell(['install'])));
    all.use(activity.changed(() => tell(['activity', 'stats', 'sessions', 'caches'])));
    all.defer(() => {
      for (const subscribed of byServer.values()) subscribed.dispose();
    });
    return all;
  }

  function subscribeTo(server: Server): DisposableStack {
    const subscribed = new DisposableStack();
    const on = <T>(event: Event<T>, parts: readonly Part[]) =>
      subscribed.use(event(() => tell(parts, server)));
    on(server.changed, ['health', 'server', 'offers']);
    on(server.listed, ['health', 'offers']);
    on(server.wrote, ['log']);
    return subscribed;
  }

  return {
    note: part => tell([part]),
    listen(name, changed) {
      const page = (part: Part, server?: Server) => {
        const isOther = server !== undefined && part !== 'health' && server.config.name !== name;
        if (!isOther) changed(part);
      };
      pages.add(page);
      subscriptions ??= subscribe();
      return {
        [Symbol.dispose]() {
          pages.delete(page);
          if (pages.size > 0) return;
          subscriptions?.dispose();
          subscriptions = undefined;
        },
      };
    },
  };
}
