import type { Clock } from './clock.ts';

/** The error of work that exceeded its time limit. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';

  constructor(limitMs: number) {
    super(`no answer within ${Math.round(limitMs)} ms`);
  }
}

/** Time limit of an abort scope. */
type Deadline = {
  readonly clock: Pick<Clock, 'after'>;
  readonly limitMs: number;
  /** Returns the reason of the abort. Default: a `DeadlineExceeded`. */
  readonly reason?: () => unknown;
};

/** A signal for work that nothing cancels. */
export const neverAborted: AbortSignal = new AbortController().signal;

type Waiting = {
  readonly clock: Pick<Clock, 'after'>;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Opens an abort scope for one piece of work. Its signal aborts with the reason of the parent that aborts first, or
 * with the reason of the deadline. Dispose the scope, as a parent that outlives it would hold it in memory.
 */
export function createAbortScope(parents: readonly AbortSignal[], deadline?: Deadline) {
  const controller = new AbortController();
  const follow = (event: Event) => {
    if (event.target instanceof AbortSignal) controller.abort(event.target.reason);
  };
  for (const parent of parents) {
    if (parent.aborted) controller.abort(parent.reason);
    else parent.addEventListener('abort', follow);
  }
  const timer = deadline?.clock.after(Math.max(0, deadline.limitMs), () =>
    controller.abort(deadline.reason ? deadline.reason() : new DeadlineExceeded(deadline.limitMs)),
  );
  return {
    signal: controller.signal,
    abort: (reason?: unknown): void => controller.abort(reason),
    /** Detaches the signal from its parents and its deadline. */
    [Symbol.dispose](): void {
      timer?.[Symbol.dispose]();
      for (const parent of parents) parent.removeEventListener('abort', follow);
    },
  };
}

/**
 * Creates a promise that resolves when the signal aborts, at once if it has aborted, and never after it is disposed.
 * Dispose it, as a signal that outlives the wait would hold the waiting code in memory.
 */
export function untilAborted(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const settle = () => resolve(undefined);
  if (signal.aborted) settle();
  else signal.addEventListener('abort', settle);
  return {
    aborted: promise,
    [Symbol.dispose]: () => signal.removeEventListener('abort', settle),
  };
}

/**
 * Returns the result of the work, or rejects with the reason of the signal once it aborts. The work itself continues.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(signal.reason);
  if (signal.aborted) fail();
  else signal.addEventListener('abort', fail);
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener('abort', fail);
  }
}

/**
 * Runs work whose signal aborts with `signal`, or after `limitMs`. Rejects with the reason of the abort at once, even
 * if the work ignores its signal. Work that continues after its result must also listen to `signal`.
 */
export async function within<T>(
  limitMs: number,
  { clock, signal }: Waiting,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  using scope = createAbortScope(signal ? [signal] : [], { clock, limitMs });
  const ended = Promise.withResolvers<never>();
  // Registered before the work begins, so that the reason of the abort precedes an error that the abort causes.
  scope.signal.addEventListener('abort', () => ended.reject(scope.signal.reason));
  return await Promise.race([ended.promise, work(scope.signal)]);
}

/** Resolves after `delayMs`, or at once when the signal aborts. */
export async function sleep(delayMs: number, { clock, signal }: Waiting): Promise<void> {
  if (signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _timer = clock.after(delayMs, resolve);
  const wake = () => resolve();
  signal?.addEventListener('abort', wake);
  await promise;
  signal?.removeEventListener('abort', wake);
}

/** Returns the result of the work, or undefined after `limitMs`. The work itself continues. */
export async function waitAtMost<T>(
  limitMs: number,
  work: Promise<T>,
  clock: Pick<Clock, 'after'>,
): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  using _timer = clock.after(limitMs, () => resolve(undefined));
  return await Promise.race([work, promise]);
}

/** Interval of `untilIdle`, in ms. */
const pollMs = 20;

/** Resolves when `isBusy` returns false, but after `limitMs` at the latest. Polls. */
export async function untilIdle(
  isBusy: () => boolean,
  limitMs: number,
  clock: Pick<Clock, 'after' | 'monotonic'>,
): Promise<void> {
  const until = clock.monotonic() + limitMs;
  while (isBusy() && clock.monotonic() < until) await sleep(pollMs, { clock });
}
