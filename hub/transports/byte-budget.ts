import { type Clock, type Log, createTicker } from '#core';

/** A connection or request whose bytes in memory count towards the budget. */
type Holder = {
  readonly bytes: () => number;
  /** Stops reading from the client until `resume`. Absent if reading cannot be stopped. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Frees the bytes, and refuses or ends the request or connection. Must not throw. */
  readonly drop: (reason: string) => void;
};

export type ByteBudget = ReturnType<typeof createByteBudget>;

type ByteBudgetNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
  /** Called when the total falls below 1 MiB after more than 16 MiB, to return memory to the system. */
  readonly relieved: () => void;
};

/** The total is checked each time this many bytes were added, and every `checkIntervalMs` while there is a holder. */
const checkAfterBytes = 2 ** 20;
const checkIntervalMs = 1_000;
/** Peak of the total, in bytes, from which memory is returned to the system when the total is low again. */
const muchBytes = 16 * 2 ** 20;
const littleBytes = 2 ** 20;
/**
 * A holder with fewer bytes is not paused. Equal shares alone would not limit the total: the first holders take far
 * larger shares.
 */
const fewBytes = 64 * 2 ** 10;
/** Time in ms for which a holder is paused before it is dropped. */
const pausedMs = 3_000;

/**
 * Limits the total bytes of all connections. Above the limit, holders with more than a small share are paused, and
 * dropped if the total stays above the limit; holders that cannot be paused are dropped at once, the largest first.
 * Clients that use little memory are still served. A holder is neither paused nor dropped while all others together
 * have less than half the limit: one large message is legitimate, and has a limit of its own. `what` names the bytes
 * in the log, such as "unread answers".
 */
export function createByteBudget(
  { maxBytes, what }: { readonly maxBytes: number; readonly what: string },
  { clock, log, relieved }: ByteBudgetNeeds,
) {
  /** Holders, each with the start of its pause on the monotonic clock; undefined if it is not paused. */
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

  /** One large message is allowed while all other holders together leave room. */
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
   * Ends pauses that have lasted too long: resumes the holders, or if the budget is full, drops them, except for the
   * largest of all, so that one message gets through.
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
    log.warn({ bytes, maxBytes }, `too many bytes of ${what}: the largest are dropped`);
  }

  /** Drops holders that cannot be paused, the largest first, until their total fits. */
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
    /** Counts the bytes of a holder until the returned Disposable is disposed. */
    hold(holder: Holder): Disposable {
      holders.set(holder, undefined);
      ticker.start();
      return { [Symbol.dispose]: () => void holders.delete(holder) };
    },
    /** Reports added bytes. The total is checked at least once per mebibyte. */
    added(bytes: number): void {
      uncheckedBytes += bytes;
      if (uncheckedBytes >= checkAfterBytes) checkTotal();
    },
  };
}
