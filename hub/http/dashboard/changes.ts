import type { FastifyReply } from 'fastify';
import type { Activity } from '#activity';
import { type Clock, HubError, type Event } from '#core';
import type { Jobs } from '#jobs';
import type { Server, Servers } from '#servers';
import { hangUpOf, openEvents } from '../routes/events.ts';

/** The parts of pages that change, by the names of the events that they listen for. */
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

/** Tells open pages which of their parts have changed. */
export interface Changes {
  /** Answers with a stream that lasts as long as its page; `server` is the one that the page is about. */
  open(reply: FastifyReply, server: string | undefined): FastifyReply;
  /** Something has changed that no event tells. */
  note(part: Part): void;
}

export type ChangesNeeds = {
  readonly servers: Pick<Servers, 'all' | 'changed' | 'find'>;
  readonly activity: Pick<Activity, 'changed'>;
  readonly jobs: Pick<Jobs, 'changed'>;
  readonly clock: Clock;
};

/** Between two tellings of one page, in milliseconds: each has it ask for what has changed. */
const tellMs = 1_000;
/** Pages beyond these ask by themselves every ten seconds. */
const maxStreams = 100;

/** Listens to the hub only while there is a page to tell. */
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
