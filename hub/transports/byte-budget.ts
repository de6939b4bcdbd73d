import type { Clock, Log } from '#core';

/** Something that keeps bytes in memory for a client: one connection, or one request. */
export type Holder = {
  readonly bytes: () => number;
  /** Stops more bytes from coming, until `resume`. Absent where that is not possible. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Gives the bytes up, and refuses or ends whatever they belong to. Must not throw. */
  readonly drop: (reason: string) => void;
};

/** One bound for the bytes of all connections together. */
export interface ByteBudget {
  /** Counts a holder until it is disposed of. */
  hold(holder: Holder): Disposable;
  /** Tells that so many bytes more are held: the sum is taken at the latest when they are a mebibyte. */
  added(bytes: number): void;
}

export type ByteBudgetOptions = {
  readonly maxBytes: number;
  /** What is counted, for the log: "unread answers". */
  readonly what: string;
};

export type ByteBudgetNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
  /** Called when much was held and little is left: its memory can be given back. */
  readonly relieved: () => void;
};

/** The sum is taken anew after so many bytes, and at least so often while there is a holder. */
const lookBytes = 2 ** 20;
const lookMs = 1_000;
/** From so many bytes on, their memory is worth being given back. */
const muchBytes = 16 * 2 ** 20;
const littleBytes = 2 ** 20;
/** How long a holder is paused before it is dropped, as nothing else makes room. */
const pausedMs = 3_000;

/**
 * Above the bound the holders that have more than an equal share of it are paused, and dropped where they still are
 * after a while; those that cannot be paused are dropped at once, the largest first. Clients which keep little are
 * served on. A single holder is never dropped: it has bounds of its own.
 */
export function createByteBudget(
  { maxBytes, what }: ByteBudgetOptions,
  { clock, log, relieved }: ByteBudgetNeeds,
): ByteBudget {
  const holders = new Set<Holder>();
  /** With the time since which they are paused. */
  const paused = new Map<Holder, number>();
  let sinceLook = 0;
  let peakBytes = 0;
  let next: Disposable | undefined;

  function look(): void {
    sinceLook = 0;
    let total = 0;
    for (const holder of holders) total += holder.bytes();
    peakBytes = Math.max(peakBytes, total);
    if (total > maxBytes) pauseLarge();
    else if (total < maxBytes / 2) resumeAll();
    const late = clock.monotonic() - pausedMs;
    for (const [holder, since] of paused) if (since < late) drop(holder, holder.bytes());
    if (total > maxBytes) dropLargest();
    if (total < littleBytes && peakBytes >= muchBytes) {
      peakBytes = 0;
      relieved();
    }
  }

  function pauseLarge(): void {
    const share = maxBytes / holders.size;
    for (const holder of holders)
      if (holder.pause && !paused.has(holder) && holder.bytes() > share) {
        paused.set(holder, clock.monotonic());
        holder.pause();
      }
  }

  function resumeAll(): void {
    for (const holder of paused.keys()) holder.resume?.();
    paused.clear();
  }

  function forget(holder: Holder): void {
    holders.delete(holder);
    paused.delete(holder);
  }

  function drop(holder: Holder, bytes: number): void {
    if (holders.size < 2) return;
    forget(holder);
    holder.drop(`more than ${maxBytes} bytes of ${what} wait in the hub. Try again later`);
    log.warn({ bytes, maxBytes }, `too many bytes of ${what}: the largest go`);
  }

  /** Those that cannot be paused. */
  function dropLargest(): void {
    const found = Array.from(holders, holder => ({ holder, bytes: holder.bytes() }))
      .filter(({ holder, bytes }) => bytes > 0 && !holder.pause)
      .sort((a, b) => b.bytes - a.bytes);
    let left = found.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { holder, bytes } of found.slice(0, -1)) {
      if (left <= maxBytes) break;
      left -= bytes;
      drop(holder, bytes);
    }
  }

  function keepLooking(): void {
    next ??= clock.after(lookMs, () => {
      next = undefined;
      look();
      if (holders.size > 0 || peakBytes >= muchBytes) keepLooking();
    });
  }

  return {
    hold(holder) {
      holders.add(holder);
      keepLooking();
      return { [Symbol.dispose]: () => forget(holder) };
    },
    added(bytes) {
      sinceLook += bytes;
      if (sinceLook >= lookBytes) look();
    },
  };
}

/** For where nothing is counted. */
export const noBudget: ByteBudget = {
  hold: () => ({ [Symbol.dispose]() {} }),
  added() {},
};
