import type { Event } from '#core';

/** An updatable part of a page, which is also the name of its event. */
export type Part =
  | 'health'
  | 'stats'
  | 'activity'
  | 'server'
  | 'offers'
  | 'log'
  | 'sessions'
  | 'caches'
  | 'install'
  | 'agent'
  | 'files'
  | 'task'
  | 'approvals'
  | 'run'
  | 'pins';

type ChangingServer = {
  readonly config: { readonly name: string };
  readonly changed: Event<unknown>;
  readonly listed: Event<unknown>;
  readonly wrote: Event<unknown>;
};

type Needs = {
  readonly servers: { readonly all: readonly ChangingServer[]; readonly changed: Event<unknown> };
  readonly activity: { readonly changed: Event<unknown> };
  readonly jobs: { readonly changed: Event<unknown> };
  readonly agents?: {
    readonly events: Event<{ readonly event: { readonly type: string } }>;
  };
  readonly tasks?: { readonly events: Event<unknown> };
  readonly approvals?: { readonly changed: Event<unknown> };
  readonly pins?: { readonly changed: Event<unknown> };
};

/** Events of an agent after which its files may have changed. */
const changesFiles = new Set(['tool_result', 'outcome']);

/** Parts that show data of all servers. */
const ofAllServers: ReadonlySet<Part> = new Set<Part>(['health', 'pins']);

/** Reports which parts of open pages have changed. Subscribes to events of the hub only while a page is open. */
export function createChanges({ servers, activity, jobs, agents, tasks, approvals, pins }: Needs) {
  const pages = new Set<(part: Part, server?: ChangingServer) => void>();
  let subscriptions: DisposableStack | undefined;

  const tell = (parts: readonly Part[], server?: ChangingServer) => {
    for (const page of pages) for (const part of parts) page(part, server);
  };

  function subscribe(): DisposableStack {
    const all = new DisposableStack();
    let ofServers = subscribeToServers();
    all.use(
      servers.changed(() => {
        ofServers.dispose();
        ofServers = subscribeToServers();
        tell(['health', 'pins']);
      }),
    );
    all.use(jobs.changed(() => tell(['install'])));
    all.use(activity.changed(() => tell(['activity', 'stats', 'sessions', 'caches'])));
    if (agents)
      all.use(
        agents.events(({ event }) =>
          tell(changesFiles.has(event.type) ? ['agent', 'files'] : ['agent']),
        ),
      );
    if (tasks) all.use(tasks.events(() => tell(['task'])));
    if (approvals) all.use(approvals.changed(() => tell(['approvals'])));
    if (pins) all.use(pins.changed(() => tell(['pins'])));
    all.defer(() => ofServers.dispose());
    return all;
  }

  function subscribeToServers(): DisposableStack {
    const subscribed = new DisposableStack();
    for (const server of servers.all) {
      const on = <T>(event: Event<T>, parts: readonly Part[]) =>
        subscribed.use(event(() => tell(parts, server)));
      on(server.changed, ['health', 'server', 'offers']);
      on(server.listed, ['health', 'offers', 'pins']);
      on(server.wrote, ['log']);
    }
    return subscribed;
  }

  return {
    /** Reports a change that has no event. */
    note: (part: Part) => tell([part]),
    /** Calls `changed` for each change. With a server's `name`, leaves out changes of other servers. */
    listen(name: string | undefined, changed: (part: Part) => void): Disposable {
      const page = (part: Part, server?: ChangingServer) => {
        if (!server || ofAllServers.has(part) || server.config.name === name) changed(part);
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
