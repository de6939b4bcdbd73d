import type { Clock } from '#core';
import type { SharingStatus } from './shared-breakers.ts';

/** Limits on the calls of one caller. */
export type CallLimits = {
  /** Maximum number of concurrent calls. */
  readonly maxConcurrentCalls?: number;
  /** Token bucket: at most `calls` at once, refilled with as many in each `perMs`. */
  readonly rate?: { readonly calls: number; readonly perMs: number };
};

/** Decision about one call: admitted or refused. */
export type CallAdmission =
  | {
      readonly kind: 'admitted';
      /** Releases the place of the call. Must be called once, when the call ends. */
      leave(): void;
    }
  | {
      readonly kind: 'refused';
      readonly by: keyof CallLimits;
      /** Time in ms until a retry may succeed. Only a hint for concurrent calls: it is unknown when they end. */
      readonly retryAfterMs: number;
    };

/** Counts the calls of each caller, and refuses those above its limits. Calls never wait. */
export interface CallLimiter {
  readonly status: SharingStatus;
  /** Connects to Redis if the limits are shared with other hubs. Idempotent; never rejects. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Admits or refuses a call of the caller with this key. Never rejects. */
  enter(key: string, limits: CallLimits): CallAdmission | Promise<CallAdmission>;
}

/** Limiter for the calls in this process only. */
type MemoryCallLimiter = Omit<CallLimiter, 'enter'> & {
  enter(key: string, limits: CallLimits): CallAdmission;
  /** Returns the token of an admitted call that was not made. */
  giveBack(key: string): void;
};

export const concurrencyRetryMs = 1_000;
/** Number of callers up to which none is removed. */
const usualAccounts = 10_000;
/** Maximum rounding error of a number of tokens. */
const epsilon = 1e-9;

type Account = { active: number; tokens: number; at: number; rate: CallLimits['rate'] };

/** Creates a limiter that counts the calls in this process. */
export function createMemoryCallLimiter(clock: Pick<Clock, 'monotonic'>): MemoryCallLimiter {
  const accounts = new Map<string, Account>();
  /** Number of callers at which idle ones are removed: those without calls in progress and with a full bucket. */
  let maxAccounts = usualAccounts;

  function accountOf(key: string, { rate }: CallLimits, now: number): Account {
    const known = accounts.get(key);
    if (known) {
      if (!known.rate) known.tokens = rate?.calls ?? 0;
      known.rate = rate;
      refill(known, now);
      return known;
    }
    if (accounts.size >= maxAccounts) forgetIdle(now);
    const account = { active: 0, tokens: rate?.calls ?? 0, at: now, rate };
    accounts.set(key, account);
    return account;
  }

  function forgetIdle(now: number): void {
    for (const [key, account] of accounts) {
      refill(account, now);
      if (isIdle(account)) accounts.delete(key);
    }
    // Doubled, because otherwise each new caller would cost a search of all callers if none of them is idle.
    maxAccounts = Math.max(usualAccounts, 2 * accounts.size);
  }

  return {
    status: { kind: 'alone' },
    async start() {},
    async stop() {},
    enter(key, limits) {
      const account = accountOf(key, limits, clock.monotonic());
      const { maxConcurrentCalls = Infinity, rate } = limits;
      if (account.active >= maxConcurrentCalls)
        return { kind: 'refused', by: 'maxConcurrentCalls', retryAfterMs: concurrencyRetryMs };
      if (rate && account.tokens < 1 - epsilon) {
        const retryAfterMs = Math.ceil(((1 - account.tokens) * rate.perMs) / rate.calls);
        return { kind: 'refused', by: 'rate', retryAfterMs };
      }
      if (rate) account.tokens -= 1;
      account.active += 1;
      return {
        kind: 'admitted',
        leave() {
          account.active -= 1;
          if (isIdle(account)) accounts.delete(key);
        },
      };
    },
    giveBack(key) {
      const account = accounts.get(key);
      if (account?.rate) account.tokens = Math.min(account.rate.calls, account.tokens + 1);
    },
  };
}

function refill(account: Account, now: number): void {
  const { rate, at, tokens } = account;
  account.at = now;
  if (rate) account.tokens = Math.min(rate.calls, tokens + ((now - at) * rate.calls) / rate.perMs);
}

const isIdle = ({ active, tokens, rate }: Account): boolean =>
  active === 0 && (!rate || tokens >= rate.calls);
