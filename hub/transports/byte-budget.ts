import { type Clock, type Log, createTicker } from '#core';

/** A connection or a request that keeps bytes in memory. */
type Holder = {
  readonly bytes: () => number;
  /** Stops reading until `resume`. Absent if that is not possible. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Frees the bytes, and refuses or ends the request or connection. Must not throw. */
  readonly drop: (reason: string) => void;
};

export type ByteBudget = ReturnType<typeof createByteBudget>;

type ByteBudgetNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
  /** Called when much was held and little is left, to return memory to the system. */
  readonly relieved: () => void;
};

/** The total is checked after this many bytes, and at this interval while there is a holder. */
const checkAfterBytes = 2 ** 20;
const checkIntervalMs = 1_000;
/** From this many bytes on, the memory is returned to the system. */
const muchBytes = 16 * 2 ** 20;
const littleBytes = 2 ** 20;
/** A holder with fewer bytes is not paused. Equal shares alone do not bound the sum: the first take far larger ones. */
const fewBytes = 64 * 2 ** 10;
/** How long a holder is paused before it is dropped. */
const pausedMs = 3_000;

/**
 * A common bound for the bytes of all connections. Above the bound the holders that have more than a small share of it
 * are paused, and dropped where they still are after a while; those that cannot be paused are dropped at once, the
 * largest first. Clients that keep little are still served. A holder is neither paused nor dropped while all others
 * together hold less than half the bound: one large message is legitimate, and has a bound of its own. `what` names the
 * bytes in the log, such as "unread answers".
 */
export function createByteBudget(
  { maxBytes, what }: { readonly maxBytes: number; readonly what: string },
  { clock, log, relieved }: ByteBudgetNeeds,
) {
  /** The holders, with the start of their pause on the monotonic clock. */
  const holders = new Map<Holder, number | undefined>();
  let uncheckedBytes = 0;
  let peakBytes = 0;
  const ticker = createTicker(clock, checkIntervalMs, () => {
    checkTotal();
    return holders.size > 0 || peakBytes >= muchBytes;
  });

  function checkTotal(): void {
    uncheckedBytes = 0;
    let total = 0;
    let most = 0;
    let largest: Holder | undefined;
    for (const holder of holders.keys()) {
      const bytes = holder.bytes();
      total += bytes;
      if (bytes > most) {
        most = bytes;
        largest = holder;
      }
    }
    peakBytes = Math.max(peakBytes, total);
    const isFull = isFullOf(total, most);
    if (isFull) pauseLarge();
    else if (total - most < maxBytes / 4) holders.forEach(resume);
    endPauses(isFull ? largest : undefined);
    if (isFull) dropLargest();
    if (total < littleBytes && peakBytes >= muchBytes) {
      peakBytes = 0;
      relieved();
    }
  }

  /** One large message is legitimate where all others together leave room. */
  const isFullOf = (total: number, most: number) => total > maxBytes && total - most > maxBytes / 2;

  function pauseLarge(): void {
    const share = Math.min(maxBytes / holders.size, fewBytes);
    for (const [holder, since] of holders)
      if (holder.pause && since === undefined && holder.bytes() > share) {
        holders.set(holder, clock.monotonic());
        holder.pause();
      }
  }

  /**
   * Ends the pauses that have been long: by dropping the holders where the budget is full, except for the largest of all,
   * so that one message gets through.
   */
  function endPauses(largestOfFull: Holder | undefined): void {
    const late = clock.monotonic() - pausedMs;
    for (const [holder, since] of holders) {
      if (since === undefined || since >= late) continue;
      if (largestOfFull && holder !== largestOfFull) drop(holder, holder.bytes());
      else resume(since, holder);
    }
  }

  function resume(since: number | undefined, holder: Holder): void {
    if (since === undefined) return;
    holders.set(holder, undefined);
    holder.resume?.();
  }

  function drop(holder: Holder, bytes: number): void {
    holders.delete(holder);
    holder.drop(`more than ${maxBytes} bytes of ${what} wait in the hub. Try again later`);
    log.warn({ bytes, maxBytes }, `too many bytes of ${what}: the largest go`);
  }

  /** Drops the largest of the holders that cannot be paused. */
  function dropLargest(): void {
    const found = Array.from(holders.keys(), holder => ({ holder, bytes: holder.bytes() }))
      .filter(({ holder, bytes }) => bytes > 0 && !holder.pause)
      .sort((a, b) => b.bytes - a.bytes);
    let left = found.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { holder, bytes } of found) {
      if (!isFullOf(left, bytes)) break;
      left -= bytes;
      drop(holder, bytes);
    }
  }

  return {
    /** Counts a holder until it is disposed of. */
    hold(holder: Holder): Disposable {
      holders.set(holder, undefined);
      ticker.start();
      return { [Symbol.dispose]: () => void holders.delete(holder) };
    },
    /** Reports that more bytes are held. The total is checked at least once per mebibyte. */
    added(bytes: number): void {
      uncheckedBytes += bytes;
      if (uncheckedBytes >= checkAfterBytes) checkTotal();
    },
  };
}
