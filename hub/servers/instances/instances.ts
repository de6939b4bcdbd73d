import { type Clock, HubError, createEmitter } from '#core';
import type { ClientOfSession } from '../handshake/handshake.ts';
import { withSampling } from '../handshake/with-sampling.ts';
import { refusalOf } from '../lifecycle/refusal.ts';
import type { Own, Server } from '../server-types.ts';

/** An instance that belongs to a session, or to all clients of one era. */
type OwnInstance = {
  /** The instance, which has the interface of a server. */
  readonly server: Server;
  /** The configured server that this is an instance of. */
  readonly base: Server;
  readonly session: object;
};

/** Instances of servers that belong to a session (`instance: session`) or to the clients of one era. */
export type Instances = ReturnType<typeof createInstances>;

type InstancesNeeds = {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly create: (own: Own) => Server;
};

type Entry = OwnInstance & {
  readonly isShared: boolean;
  /** True if the instance counts towards the maximum: it runs, or may start at any moment. */
  isActive: boolean;
  usedMs: number;
};

/** The instances of one configured server. */
type Group = { readonly entries: Set<Entry>; readonly heard: Disposable; lastNumber: number };

/** Minimum interval between idle checks, in ms. */
const sweepMs = 1_000;

/** Name of the instance that clients of 2025-11-25 and older share; instances of sessions are numbered. */
const sharedInstance = 'legacy';

export function createInstances({ clock, create }: InstancesNeeds) {
  const opened = createEmitter<OwnInstance>();
  const closed = createEmitter<Server>();
  const groups = new Map<Server, Group>();
  const sessions = new Map<object, Map<Server, Entry>>();
  const ending = new Set<Promise<void>>();
  let sweep: Disposable | undefined;
  let sweepAtMs = Infinity;
  let isHeard = (_instance: Server): boolean => false;

  /** True if the instance starts, or a client waits for it, is subscribed to it, or has a task there. */
  const isBusy = (instance: Server): boolean =>
    isHeard(instance) ||
    (instance.running
      ? instance.running.upstream.onlyCaller() !== 'none'
      : instance.status.state === 'starting');

  const entriesOf = (server: Server): readonly Entry[] => [...(groups.get(server)?.entries ?? [])];

  const count = (server: Server): number => entriesOf(server).filter(one => one.isActive).length;

  function groupOf(base: Server): Group {
    const known = groups.get(base);
    if (known) return known;
    const entries = new Set<Entry>();
    let hasEnded = base.status.state === 'stopping' && base.status.hasEnded;
    // A stop or restart of the server also stops its instances; a crash of the server's own instance does not.
    const heard = base.changed(status => {
      const isMeant =
        (status.state === 'stopped' && !hasEnded) ||
        (status.state === 'stopping' && !status.hasEnded);
      hasEnded = status.state === 'stopping' && status.hasEnded;
      if (!isMeant) return;
      for (const { isActive, server } of entries)
        if (isActive && base.config.enabled) void server.stop(status.byHand === true);
        else if (isActive) void server.reconfigure(base.config, false);
    });
    const group: Group = { entries, heard, lastNumber: 0 };
    groups.set(base, group);
    return group;
  }

  function open(base: Server, session: object, wanted: Omit<Own, 'base' | 'instance'>): Entry {
    const { isShared } = wanted;
    const group = groupOf(base);
    const instance = isShared ? sharedInstance : String(++group.lastNumber);
    const server = create({ ...wanted, instance, base });
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

  /** Stops the least recently used instance that may be stopped. Returns false if there is none. */
  function makeRoom(base: Server, mayEnd: (session: object) => boolean): boolean {
    const [oldest] = entriesOf(base)
      .filter(({ isActive, server, session }) => isActive && !isBusy(server) && mayEnd(session))
      .toSorted((a, b) => a.usedMs - b.usedMs);
    if (!oldest) return false;
    oldest.isActive = false;
    void oldest.server.stop(false);
    return true;
  }

  /** Stops instances that were idle for longer than their limit, and schedules the next check. */
  function stopIdle(): void {
    let nextMs = Infinity;
    for (const entry of [...groups.values()].flatMap(({ entries }) => [...entries])) {
      if (!entry.isActive) continue;
      if (isBusy(entry.server)) entry.usedMs = clock.monotonic();
      const leftMs = entry.base.config.instanceIdleMs - (clock.monotonic() - entry.usedMs);
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      else void entry.server.stop(false);
    }
    sweepAtMs = Infinity;
    if (nextMs < Infinity) sweepIn(nextMs);
  }

  function sweepIn(delayMs: number): void {
    const atMs = clock.monotonic() + Math.max(delayMs, sweepMs);
    if (sweepAtMs <= atMs) return;
    sweep?.[Symbol.dispose]();
    sweepAtMs = atMs;
    sweep = clock.after(atMs - clock.monotonic(), stopIdle);
  }

  function close(entry: Entry, why: 'stopping' | 'removed'): Promise<void> {
    const over = entry.server.close(why).finally(() => {
      groups.get(entry.base)?.entries.delete(entry);
      ending.delete(over);
      closed.fire(entry.server);
    });
    ending.add(over);
    return over;
  }

  function release(session: object): void {
    const own = sessions.get(session);
    sessions.delete(session);
    for (const entry of own?.values() ?? []) void close(entry, 'stopping');
  }

  /** Throws the refusal of calls if the server was stopped by hand, is disabled or is closed. */
  function needOpen(base: Server): void {
    if (base.closed) throw base.closed;
    const { config, status } = base;
    // A restart also stops the server, but calls may open instances meanwhile.
    const isEnding = status.state === 'stopping' && (status.byHand || !config.enabled);
    const refused =
      (status.state === 'stopped' || isEnding) && refusalOf(config, status, '', clock.monotonic());
    if (refused) throw refused;
  }

  function use(entry: Entry): Server {
    entry.isActive = true;
    entry.usedMs = clock.monotonic();
    sweepIn(entry.base.config.instanceIdleMs);
    return entry.server;
  }

  return {
    /**
     * Returns the instance of a session, the same for as long as the session lasts. Its `ready` launches it, also after
     * it has ended. Throws HUB_INSTANCES_FULL if the server has its maximum of instances, and the server's refusal if
     * it was stopped by hand. Without `client`, the instance sees a client with all capabilities. `mayEnd` selects the
     * sessions whose instances may be stopped to make room; the least recently used instance is stopped.
     */
    of(
      base: Server,
      session: object,
      client: ClientOfSession | undefined,
      mayEnd: (session: object) => boolean,
    ): Server {
      needOpen(base);
      const known = sessions.get(session)?.get(base);
      const isFull = !known?.isActive && count(base) >= base.config.maxInstances;
      if (isFull && !makeRoom(base, mayEnd))
        throw new HubError(
          'HUB_INSTANCES_FULL',
          `${base.config.name} runs for ${base.config.maxInstances} sessions already. Close some, raise "max_instances" of this server, or let clients share it with "instance": "shared"`,
          { data: { server: base.config.name, retryable: true } },
        );
      // Only sessions of clients up to 2025-11-25 have a `client`.
      const told = client && {
        ...client,
        capabilities: withSampling(client.capabilities, base.config),
      };
      const own = { client: told, era: told ? 'legacy' : 'modern', isShared: false } as const;
      return use(known ?? open(base, session, own));
    },
    /**
     * Returns the instance shared by all clients of 2025-11-25 and older. `holder` stands for the session. Throws as
     * `of` does.
     */
    forOlderClients(base: Server, holder: object): Server {
      needOpen(base);
      const known = sessions.get(holder)?.get(base);
      const own = { client: undefined, era: 'legacy', isShared: true } as const;
      return use(known ?? open(base, holder, own));
    },
    release,
    /**
     * Applies the server's config to its instances. If `isReplaced`, the instance that older clients share is replaced.
     */
    async configure(server: Server, isReplaced = false): Promise<void> {
      await Promise.all(
        entriesOf(server).map(({ server: instance, isShared }) =>
          instance
            .reconfigure(server.config, isShared && isReplaced)
            // An instance that does not start with the new entry is stopped; the next call starts it again.
            .catch(() => instance.stop(false)),
        ),
      );
    },
    /** Ends all instances of a server that was removed, and resolves when they have ended. */
    async drop(server: Server): Promise<void> {
      const entries = entriesOf(server);
      for (const { session } of entries) sessions.get(session)?.delete(server);
      await Promise.all(entries.map(entry => close(entry, 'removed')));
      groups.get(server)?.heard[Symbol.dispose]();
      groups.delete(server);
    },
    /** Returns the number of instances of a server that run, start or stop. */
    count,
    list: (server: Server): readonly Server[] => entriesOf(server).map(entry => entry.server),
    isBusy,
    isHeard: (server: Server): boolean => isHeard(server),
    /** Sets the function that returns true if a client is subscribed to an instance, or has a task there. */
    hearWith(heard: (instance: Server) => boolean): void {
      isHeard = heard;
    },
    opened: opened.event,
    /** Fires when an instance has ended and will not start again. */
    closed: closed.event,
    async stopAll(): Promise<void> {
      for (const session of Array.from(sessions.keys())) release(session);
      sweep?.[Symbol.dispose]();
      await Promise.all(ending);
    },
  };
}
