import type { FastifyReply } from 'fastify';
import type { Activity } from '#activity';
import { type Clock, HubError, type Event } from '#core';
import type { Jobs } from '#jobs';
import type { Server, Servers } from '#servers';
import { hangUpOf, openEvents } from '../routes/events.ts';

/** Updatable parts of pages, by their event names. */
const parts = [
  'health',
  'stats',
  'activity',
  'server',
  'offers',
  'log',
  'sessions',
  'caches',
  'install',
] as const;
export type Part = (typeof parts)[number];

/** Notifies open pages about changed parts. */
export interface Changes {
  /** Answers with an event stream. `server`: the server of the page. */
  open(reply: FastifyReply, server: string | undefined): FastifyReply;
  /** Reports a change that has no event. */
  note(part: Part): void;
}

export type ChangesNeeds = {
  readonly servers: Pick<Servers, 'all' | 'changed' | 'find'>;
  readonly activity: Pick<Activity, 'changed'>;
  readonly jobs: Pick<Jobs, 'changed'>;
  readonly clock: Clock;
};

/** Minimum interval in ms between notifications of a page, which reloads the changed parts after each. */
const tellMs = 1_000;
/** Maximum number of streams. Further pages poll every ten seconds. */
const maxStreams = 100;

/** Subscribes to events of the hub only while a page is open. */
export function createChanges({ servers, activity, jobs, clock }: ChangesNeeds): Changes {
  const streams = new Set<(part: Part, server?: Server) => void>();
  let listening: Disposable | undefined;

  const tell = (part: Part, server?: Server) => {
    for (const stream of streams) stream(part, server);
  };

  function listen(): Disposable {
    const heard = new Map<Server, readonly Disposable[]>();
    const hearAll = () => {
      const all = new Set(servers.all);
      for (const [server, one] of heard)
        if (!all.has(server)) {
          disposeAll(one);
          heard.delete(server);
        }
      for (const server of all) if (!heard.has(server)) heard.set(server, hear(server));
    };
    hearAll();
    const others = [
      servers.changed(() => {
        hearAll();
        tell('health');
      }),
      jobs.changed(() => tell('install')),
      activity.changed(() => {
        for (const part of ['activity', 'stats', 'sessions', 'caches'] as const) tell(part);
      }),
    ];
    return {
      [Symbol.dispose]() {
        disposeAll(others);
        for (const one of heard.values()) disposeAll(one);
      },
    };
  }

  const on = <T>(event: Event<T>, server: Server, told: readonly Part[]) =>
    event(() => {
      for (const part of told) tell(part, server);
    });
  const hear = (server: Server) => [
    on(server.changed, server, ['health', 'server', 'offers']),
    on(server.listed, server, ['health', 'offers']),
    on(server.wrote, server, ['log']),
  ];

  return {
    note: part => tell(part),
    open(reply, name) {
      if (streams.size >= maxStreams)
        throw new HubError(
          'HUB_SUBSCRIPTIONS_FULL',
          `${maxStreams} pages of the dashboard are open already: close some`,
        );
      const events = openEvents(reply, clock);
      const changed = new Set<Part>();
      let due: Disposable | undefined;
      const flush = () => {
        due = undefined;
        for (const part of changed) events.send(part, {});
        changed.clear();
      };
      const stream = (part: Part, server?: Server) => {
        const isOther = server !== undefined && part !== 'health' && server.config.name !== name;
        if (isOther) return;
        changed.add(part);
        due ??= clock.after(tellMs, flush);
      };
      streams.add(stream);
      listening ??= listen();
      hangUpOf(reply).addEventListener('abort', () => {
        streams.delete(stream);
        due?.[Symbol.dispose]();
        events[Symbol.dispose]();
        if (streams.size > 0) return;
        listening?.[Symbol.dispose]();
        listening = undefined;
      });
      return reply;
    },
  };
}

function disposeAll(all: readonly Disposable[]): void {
  for (const one of all) one[Symbol.dispose]();
}
