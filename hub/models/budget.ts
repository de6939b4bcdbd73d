import { type Clock, HubError } from '#core';
import type { ChatUsage } from './chat/chat-types.ts';

export type BudgetLimits = {
  /** Maximum of input and output tokens together, in any hour. */
  readonly tokensPerHour: number;
  readonly callsPerTurn: number;
};

type ModelBudgetStatus = {
  /** Tokens spent in the last hour. */
  readonly tokens: number;
  /** Calls since the turn began. */
  readonly calls: number;
  /** Time at which the next call is allowed, in milliseconds since the epoch; absent while calls are allowed. */
  readonly freeAt?: number;
};

/** Tokens spent within the same minute. */
export type SpentTokens = {
  /** Start of the minute, in milliseconds since the epoch. */
  readonly at: number;
  readonly tokens: number;
};

/** Budget of one agent for calls of models. */
export interface ModelBudget {
  /** Begins a turn of the agent, and resets the number of its calls to 0. */
  turn(): void;
  /** Counts a call. Throws HUB_BUDGET_SPENT if the turn has no calls left, or the last hour no tokens. */
  check(): void;
  spent(usage: ChatUsage): void;
  readonly status: ModelBudgetStatus;
}

const hourMs = 3_600_000;
/** Interval in ms for which spent tokens are added up. */
const slotMs = 60_000;

/**
 * Creates a budget. The limits are read at each call, so that a change applies at once. `store` has the tokens that
 * were spent before this run of the hub (`earlier`), and saves those of the last hour, oldest first.
 */
export function createBudget(
  limits: () => BudgetLimits,
  clock: Clock,
  store?: {
    readonly earlier: readonly SpentTokens[];
    readonly save: (history: readonly SpentTokens[]) => void;
  },
): ModelBudget {
  /** Tokens by the start of their minute, in monotonic ms, oldest first. */
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
  /** Returns the tokens spent within the last hour by minute, oldest first. */
  const history = () =>
    current().map(({ atMs, tokens: spent }) => ({
      at: Math.round(clock.now() - (clock.monotonic() - atMs)),
      tokens: spent,
    }));
  const sumOf = (some: typeof slots) => some.reduce((sum, { tokens }) => sum + tokens, 0);

  /** Time in ms until the tokens of the last hour are below the limit; 0 if they are now. */
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
