import { type Clock, type Event, HubError, createEmitter } from '#core';
import type { ClientOfSession } from './client-of-session.ts';
import { refusalOf } from '../lifecycle/refusal.ts';
import type { Own, Server } from '../server-types.ts';

/** An instance that a session has for itself. */
export type OwnInstance = {
  /** The server of this session alone. */
  readonly server: Server;
  /** The configured server that it is an instance of. */
  readonly base: Server;
  readonly session: object;
};

/** The instances that sessions have for themselves, of servers with `instance: session`. */
export interface Instances {
  /**
   * The instance of a session: the same one as long as the session lasts. It is launched when it is asked to
   * be ready, also after it has ended. Throws HUB_INSTANCES_FULL where the server has as many as it may, and
   * as the server does where that was stopped by hand. Without a client, one who can do everything.
   * `mayEnd` tells of whose instances one may be stopped to make room: that which was not used for longest.
   */
  of(
    server: Server,
    session: object,
    client: ClientOfSession | undefined,
    mayEnd: (session: object) => boolean,
  ): Server;
  /**
   * The instance that all clients of 2025-11-25 and older share, of a server that they are not to have for
   * themselves. `holder` stands for them. Throws as `of` does.
   */
  forOlderClients(server: Server, holder: object): Server;
  /** Ends the instances of a session that is over. */
  release(session: object): void;
  /**
   * Has the config that a server has now in force for its instances. Those of sessions go on running; one that
   * clients share is replaced where that of the server `isReplaced`. Resolves when it is in force for all.
   */
  configure(server: Server, isReplaced?: boolean): Promise<void>;
  /** Ends all that sessions have of a server that was removed, and resolves when nothing of it is left. */
  drop(server: Server): Promise<void>;
  /** How many instances of a server run, or begin to or end. */
  count(server: Server): number;
  /** Those of a server, running or not. */
  list(server: Server): readonly Server[];
  /** True while it begins, while a client waits for it, hears of what it tells, or has a task there. */
  isBusy(instance: Server): boolean;
  /** Whether a client hears of what a server tells by itself. */
  isHeard(server: Server): boolean;
  /** Hands in who knows whether a client hears of what an instance tells by itself, or has a task there. */
  hearWith(isHeard: (instance: Server) => boolean): void;
  /** A session has got an instance. */
  readonly opened: Event<OwnInstance>;
  /** Ends all of them for good, and resolves when nothing of them is left. */
  stopAll(): Promise<void>;
}

export type InstancesNeeds = {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly create: (own: Own) => Server;
};

type Entry = OwnInstance & {
  readonly isShared: boolean;
  /** It counts: it runs, or may at any moment. */
  isActive: boolean;
  usedMs: number;
};

/** Of one configured server. */
type Group = { readonly entries: Set<Entry>; readonly heard: Disposable; lastNumber: number };

/** What is idle is looked for no more often than this. */
const sweepMs = 1_000;

/** Tells the instance that older clients share from those of sessions, which have numbers. */
const sharedInstance = 'legacy';

/** Instances of servers that `create` makes. There are none at first. */
export function createInstances({ clock, create }: InstancesNeeds): Instances {
  const opened = createEmitter<OwnInstance>();
  const groups = new Map<Server, Group>();
  const sessions = new Map<object, Map<Server, Entry>>();
  const ending = new Set<Promise<void>>();
  let sweep: (Disposable & { readonly atMs: number }) | undefined;
  let isHeard = (_instance: Server): boolean => false;

  const isBusy = (instance: Server): boolean =>
    isHeard(instance) ||
    (instance.running
      ? instance.running.upstream.onlyCaller() !== 'none'
      : instance.status.state === 'starting');

  const countOf = ({ entries }: Group) => {
    let active = 0;
    for (const entry of entries) if (entry.isActive) active++;
    return active;
  };

  function groupOf(base: Server): Group {
    const known = groups.get(base);
    if (known) return known;
    const entries = new Set<Entry>();
    let hasEnded = base.status.state === 'stopping' && base.status.hasEnded;
    // Who stops the server, or restarts it, means all of it. One that ends by itself is none of the others.
    const heard = base.changed(status => {
      const isMeant =
        (status.state === 'stopped' && !hasEnded) ||
        (status.state === 'stopping' && !status.hasEnded);
      hasEnded = status.state === 'stopping' && status.hasEnded;
      if (isMeant) for (const entry of entries) if (entry.isActive) void entry.server.stop(false);
    });
    const group: Group = { entries, heard, lastNumber: 0 };
    groups.set(base, group);
    return group;
  }

  function open(
    base: Server,
    session: object,
    { client, era, isShared }: Pick<Own, 'client' | 'era' | 'isShared'>,
    group: Group,
  ): Entry {
    const instance = isShared ? sharedInstance : String(++group.lastNumber);
    const server = create({ instance, base, client, era, isShared });
    const entry: Entry = { server, base, session, isShared, isActive: false, usedMs: 0 };
    group.entries.add(entry);
    const own = sessions.get(session) ?? new Map<Server, Entry>();
    sessions.set(session, own.set(base, entry));
    server.changed(({ state }) => {
      if (state === 'stopped') entry.isActive = false;
      if (state === 'starting') entry.isActive = true;
    });
    opened.fire({ server, base, session });
    return entry;
  }

  /** Stops what was not used for longest of what may be stopped. False where nothing may. */
  function makeRoom({ entries }: Group, mayEnd: (session: object) => boolean): boolean {
    const spare = [...entries].filter(
      ({ isActive, server, session }) => isActive && !isBusy(server) && mayEnd(session),
    );
    const [oldest] = spare.toSorted((a, b) => a.usedMs - b.usedMs);
    if (!oldest) return false;
    oldest.isActive = false;
    void oldest.server.stop(false);
    return true;
  }

  const idleMsOf = ({ base, usedMs }: Entry) =>
    base.config.instanceIdleMs - (clock.monotonic() - usedMs);

  /** Ends what has had nothing to do for too long, and looks again when the next may have. */
  function stopIdle(): void {
    let nextMs = Infinity;
    for (const { entries } of groups.values())
      for (const entry of entries) {
        if (!entry.isActive) continue;
        if (isBusy(entry.server)) entry.usedMs = clock.monotonic();
        const leftMs = idleMsOf(entry);
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
        else void entry.server.stop(false);
      }
    sweep = undefined;
    if (nextMs < Infinity) sweepIn(nextMs);
  }

  function sweepIn(delayMs: number): void {
    const atMs = clock.monotonic() + Math.max(delayMs, sweepMs);
    if (sweep && sweep.atMs <= atMs) return;
    sweep?.[Symbol.dispose]();
    const timer = clock.after(atMs - clock.monotonic(), stopIdle);
    sweep = { atMs, [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  function close(entry: Entry, why: 'stopping' | 'removed'): Promise<void> {
    const over = entry.server.close(why).finally(() => {
      groups.get(entry.base)?.entries.delete(entry);
      ending.delete(over);
    });
    ending.add(over);
    return over;
  }

  function release(session: object): void {
    const own = sessions.get(session);
    sessions.delete(session);
    for (const entry of own?.values() ?? []) void close(entry, 'stopping');
  }

  /** Throws where the server is not to run. */
  function needOpen(base: Server): void {
    if (base.closed) throw base.closed;
    const { state } = base.status;
    const refused =
      state === 'stopped' && refusalOf(base.config, base.status, '', clock.monotonic());
    if (refused) throw refused;
  }

  function use(entry: Entry): Server {
    entry.isActive = true;
    entry.usedMs = clock.monotonic();
    sweepIn(entry.base.config.instanceIdleMs);
    return entry.server;
  }

  return {
    of(base, session, client, mayEnd) {
      needOpen(base);
      const group = groupOf(base);
      const known = sessions.get(session)?.get(base);
      const isFull = !known?.isActive && countOf(group) >= base.config.maxInstances;
      if (isFull && !makeRoom(group, mayEnd))
        throw new HubError(
          'HUB_INSTANCES_FULL',
          `${base.config.name} runs for ${base.config.maxInstances} sessions already. Close some, raise "max_instances" of this server, or let clients share it with "instance": "shared"`,
          { data: { server: base.config.name, retryable: true } },
        );
      // Who gives a client speaks for its session, which only the older era has.
      const own = { client, era: client ? 'legacy' : 'modern', isShared: false } as const;
      return use(known ?? open(base, session, own, group));
    },
    forOlderClients(base, holder) {
      needOpen(base);
      const known = sessions.get(holder)?.get(base);
      const own = { client: undefined, era: 'legacy', isShared: true } as const;
      return use(known ?? open(base, holder, own, groupOf(base)));
    },
    release,
    async configure(server, isReplaced = false) {
      const entries = Array.from(groups.get(server)?.entries ?? []);
      await Promise.all(
        entries.map(({ server: instance, isShared }) =>
          instance
            .reconfigure(server.config, isShared && isReplaced)
            // What cannot be brought up as the entry is now is started by the next call.
            .catch(() => instance.stop(false)),
        ),
      );
    },
    async drop(server) {
      const entries = [...(groups.get(server)?.entries ?? [])];
      for (const { session } of entries) sessions.get(session)?.delete(server);
      await Promise.all(entries.map(entry => close(entry, 'removed')));
      groups.get(server)?.heard[Symbol.dispose]();
      groups.delete(server);
    },
    count(server) {
      const group = groups.get(server);
      return group ? countOf(group) : 0;
    },
    list: server => [...(groups.get(server)?.entries ?? [])].map(entry => entry.server),
    isBusy,
    isHeard: server => isHeard(server),
    hearWith(heard) {
      isHeard = heard;
    },
    opened: opened.event,
    async stopAll() {
      for (const session of Array.from(sessions.keys())) release(session);
      sweep?.[Symbol.dispose]();
      await Promise.all(ending);
    },
  };
}
