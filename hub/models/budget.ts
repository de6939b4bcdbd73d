import { type Clock, HubError } from '#core';
import type { ChatUsage } from './chat/chat-types.ts';

export type BudgetLimits = {
  /** Input and output together, in any hour. */
  readonly tokensPerHour: number;
  readonly callsPerTurn: number;
};

type ModelBudgetStatus = {
  /** Tokens spent in the last hour. */
  readonly tokens: number;
  /** Calls since the turn began. */
  readonly calls: number;
  /** When the next call is allowed, in milliseconds since the epoch; absent while calls are allowed. */
  readonly freeAt?: number;
};

/** Tokens that were spent within a minute. */
export type SpentTokens = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly tokens: number;
};

/** What one agent may spend on models. */
export interface ModelBudget {
  /** Begins a turn: its calls are counted from 0 again. */
  turn(): void;
  /** Counts a call. Throws HUB_BUDGET_SPENT if none is left, or if the tokens of the hour are spent. */
  check(): void;
  spent(usage: ChatUsage): void;
  readonly status: ModelBudgetStatus;
}

const hourMs = 3_600_000;
/** Tokens are added up by the minute. */
const slotMs = 60_000;

/**
 * Creates a budget. The limits are read at each call, so that a change applies at once. `store` has what was spent before this
 * run of the hub, and saves what was spent within the last hour, oldest first.
 */
export function createBudget(
  limits: () => BudgetLimits,
  clock: Clock,
  store?: {
    readonly earlier: readonly SpentTokens[];
    readonly save: (history: readonly SpentTokens[]) => void;
  },
): ModelBudget {
  /** Tokens by the start of their slot, in monotonic ms, oldest first. */
  let slots: readonly { readonly atMs: number; readonly tokens: number }[] = (
    store?.earlier ?? []
  ).map(
    // A clock that was set back must not lock the budget for longer than an hour.
    ({ at, tokens }) => ({
      atMs: clock.monotonic() - Math.max(0, clock.now() - at),
      tokens,
    }),
  );
  let calls = 0;

  function current() {
    slots = slots.filter(({ atMs }) => atMs + hourMs > clock.monotonic());
    return slots;
  }
  /** What was spent within the last hour, oldest first. */
  const history = () =>
    current().map(({ atMs, tokens: spent }) => ({
      at: Math.round(clock.now() - (clock.monotonic() - atMs)),
      tokens: spent,
    }));
  const sumOf = (some: typeof slots) => some.reduce((sum, { tokens }) => sum + tokens, 0);

  /** Time in ms until enough tokens are older than an hour; 0 while some are left. */
  function waitMs(): number {
    const { tokensPerHour } = limits();
    if (tokensPerHour <= 0) return hourMs;
    const all = current();
    const needed = all.findIndex((_, at) => sumOf(all.slice(at)) < tokensPerHour);
    const last = needed < 0 ? all.at(-1) : all[needed - 1];
    return last ? last.atMs + hourMs - clock.monotonic() : 0;
  }

  return {
    turn: () => void (calls = 0),
    check() {
      const { tokensPerHour, callsPerTurn } = limits();
      if (calls >= callsPerTurn)
        throw new HubError(
          'HUB_BUDGET_SPENT',
          `this turn has made ${calls} model calls, as many as its budget allows (calls_per_turn). Raise it, or send a smaller task`,
        );
      const retryAfterMs = waitMs();
      if (retryAfterMs > 0) {
        const free = new Date(clock.now() + retryAfterMs).toISOString();
        throw new HubError(
          'HUB_BUDGET_SPENT',
          `${sumOf(current())} tokens were spent in the last hour, and the budget is ${tokensPerHour} (tokens_per_hour). It allows calls again at ${free}. Raise it, or wait`,
          { data: { retryAfterMs } },
        );
      }
      calls++;
    },
    spent({ inputTokens, outputTokens }) {
      const atMs = Math.floor(clock.monotonic() / slotMs) * slotMs;
      const last = slots.at(-1);
      const isNew = last?.atMs !== atMs;
      const tokens = inputTokens + outputTokens + (isNew ? 0 : last.tokens);
      slots = [...(isNew ? current() : slots.slice(0, -1)), { atMs, tokens }];
      store?.save(history());
    },
    get status() {
      const retryAfterMs = waitMs();
      const status = { tokens: sumOf(current()), calls };
      return retryAfterMs > 0 ? { ...status, freeAt: clock.now() + retryAfterMs } : status;
    },
  };
}
