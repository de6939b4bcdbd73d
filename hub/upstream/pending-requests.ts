import { type Clock, type HubError, type Timer, createSlotMap } from '#core';
import type { Answer } from '#jsonrpc';
import type { About, Caller, Owner } from './upstream-types.ts';

/** A request that waits for its answer. The hub's own requests have no caller. */
type PendingRequest = {
  readonly method: string;
  readonly caller: Caller | undefined;
  readonly timeout: Timer | undefined;
  readonly settle: (answer: Answer) => void;
  readonly reject: (error: HubError) => void;
};

type Entry = PendingRequest & { readonly node: OwnedNode<Caller> | undefined };

/** Time in ms for which an abandoned request is kept. A compliant server never answers it, so the entry expires. */
const abandonedMs = 30_000;
/** Maximum number of abandoned requests. Above it, the oldest is forgotten. */
const maxAbandoned = 1_000;

/**
 * Creates an empty set of pending requests, with ids above `after`. Cancelled and timed-out requests are kept as
 * abandoned: the server's messages about them must not be attributed to calls of other clients.
 */
export function createPendingRequests(clock: Pick<Clock, 'after'>, after?: number) {
  const entries = createSlotMap<Entry>(after);
  const calls = createByOwner<Caller>();
  const abandoned = new Map<
    number,
    { readonly node: OwnedNode<WithOwner>; readonly timeout: Timer }
  >();
  const abandoners = createByOwner<WithOwner>();

  function forget(id: number): void {
    const one = abandoned.get(id);
    if (!one) return;
    one.timeout[Symbol.dispose]();
    abandoners.remove(one.node);
    abandoned.delete(id);
  }

  return {
    get size() {
      return entries.size;
    },
    get callCount() {
      return calls.size;
    },
    /** Adds a request. Returns its id, which is above all earlier ids. */
    add({ method, caller, timeout, settle, reject }: PendingRequest): number {
      const node = caller && calls.add(caller);
      return entries.add({ method, caller, timeout, settle, reject, node });
    },
    find: (id: number): PendingRequest | undefined => entries.find(id),
    /** Removes the request and stops its timeout. Returns undefined if the request is gone already. */
    take(id: number): PendingRequest | undefined {
      const entry = entries.take(id);
      if (!entry) return undefined;
      entry.timeout?.[Symbol.dispose]();
      if (entry.node) calls.remove(entry.node);
      return entry;
    },
    /** All ids, oldest first. A copy: requests may be taken during iteration. */
    ids: (): readonly number[] => entries.entries().map(([id]) => id),
    /** The subject of a message on the response to request `id`; undefined if the channel tells no id. */
    aboutOf(id: string | undefined): About | undefined {
      if (id === undefined) return undefined;
      const entry = entries.find(Number(id));
      return entry ? (entry.caller ?? 'none') : 'gone';
    },
    abandon(id: number, owner: Owner): void {
      const timeout = clock.after(abandonedMs, () => forget(id));
      abandoned.set(id, { node: abandoners.add({ owner }), timeout });
      const [oldest] = abandoned.size > maxAbandoned ? abandoned.keys() : [];
      if (oldest !== undefined) forget(oldest);
    },
    /** Forgets an abandoned request: the server has finished with it. */
    forget,
    forgetAll() {
      for (const id of Array.from(abandoned.keys())) forget(id);
    },
    /** Implements `Upstream.onlyCaller`, in constant time, because a server may send any number of messages. */
    onlyCaller(): Caller | 'none' | 'several' {
      const { newest } = calls;
      const left = abandoners.newest?.owner;
      if (calls.isOfSeveral || abandoners.isOfSeveral) return 'several';
      if (left && !(newest && isSameClient(left, newest.owner))) return 'several';
      return newest ?? 'none';
    },
  };
}

/** Calls `expired` after `timeoutMs` without progress. The call has already waited `waitedMs` of that time. */
export function createCallTimer(
  clock: Pick<Clock, 'after'>,
  expired: () => void,
  timeoutMs: number,
  waitedMs: number,
): Timer {
  // Most calls have not waited yet: they need only the plain timer.
  if (waitedMs === 0) return clock.after(timeoutMs, expired);
  let timer = clock.after(timeoutMs - waitedMs, expired);
  return {
    refresh() {
      timer[Symbol.dispose]();
      timer = clock.after(timeoutMs, expired);
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

const isSameClient = (one: Owner, other: Owner): boolean =>
  one === other || (one.identity !== undefined && one.identity === other.identity);

export type WithOwner = { readonly owner: Owner };

/** A node of the linked list. `add` returns it and `remove` takes it. */
export type OwnedNode<T extends WithOwner> = {
  readonly value: T;
  before: OwnedNode<T> | undefined;
  after: OwnedNode<T> | undefined;
};

/**
 * Creates a list of values that belong to clients, oldest first. It counts neighbours of different clients, because a
 * count by owner would need a Map whose keys come and go with each call (see `createSlotMap`).
 */
export function createByOwner<T extends WithOwner>() {
  let newest: OwnedNode<T> | undefined;
  let size = 0;
  let differing = 0;

  /** Returns 1 if both nodes exist and belong to different clients, otherwise 0. */
  const differ = (a: OwnedNode<T> | undefined, b: OwnedNode<T> | undefined): number =>
    a && b && !isSameClient(a.value.owner, b.value.owner) ? 1 : 0;

  return {
    get size() {
      return size;
    },
    get newest() {
      return newest?.value;
    },
    get isOfSeveral() {
      return differing > 0;
    },
    add(value: T): OwnedNode<T> {
      const node: OwnedNode<T> = { value, before: newest, after: undefined };
      if (newest) newest.after = node;
      differing += differ(newest, node);
      newest = node;
      size++;
      return node;
    },
    /** Call this once for each node. */
    remove(node: OwnedNode<T>): void {
      const { before, after } = node;
      differing += differ(before, after) - differ(before, node) - differ(node, after);
      if (before) before.after = after;
      if (after) after.before = before;
      else newest = before;
      // Unlink the removed node, so that it does not keep later nodes alive.
      node.before = undefined;
      node.after = undefined;
      size--;
    },
  };
}
