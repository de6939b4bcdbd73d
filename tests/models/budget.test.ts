import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { type BudgetLimits, type SpentTokens, createBudget } from '../../hub/models/budget.ts';
import { createManualClock } from '#helpers/clock';

const minuteMs = 60_000;

function open(given: Partial<BudgetLimits> = {}) {
  const clock = createManualClock();
  const limits = { tokensPerHour: 100, callsPerTurn: 3, ...given };
  const budget = createBudget(() => limits, clock);
  const spend = (tokens: number) => budget.spent({ inputTokens: tokens - 1, outputTokens: 1 });
  return { clock, limits, budget, spend };
}

function refusal(work: () => void): HubError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof HubError);
    assert.equal(error.code, 'HUB_BUDGET_SPENT');
    return error;
  }
  throw new Error('it was not refused');
}

describe('a turn of an agent', () => {
  test('has a number of calls, and the next turn has as many again', () => {
    const { budget } = open();
    for (const _ of [1, 2, 3]) budget.check();
    const { message, data } = refusal(() => budget.check());
    assert.match(message, /^this turn has made 3 model calls.*calls_per_turn/);
    assert.deepEqual(data, {});
    assert.equal(budget.status.calls, 3);
    budget.turn();
    budget.check();
    assert.equal(budget.status.calls, 1);
  });

  test('follows a change of the limits at once', () => {
    const { budget, limits } = open();
    for (const _ of [1, 2, 3]) budget.check();
    limits.callsPerTurn = 4;
    budget.check();
  });
});

describe('an hour of an agent', () => {
  test('has a number of tokens, and a refusal says when there are some again', () => {
    const { clock, budget, spend } = open();
    spend(60);
    budget.check();
    clock.advance(10 * minuteMs);
    spend(50);
    const { message, data } = refusal(() => budget.check());
    assert.match(message, /^110 tokens were spent in the last hour, and the budget is 100/);
    assert.equal(data.retryAfterMs, 50 * minuteMs);
    const freeAt = clock.now() + 50 * minuteMs;
    assert.ok(message.includes(new Date(freeAt).toISOString()));
    assert.deepEqual(budget.status, { tokens: 110, calls: 1, freeAt });
    clock.advance(50 * minuteMs);
    assert.deepEqual(budget.status, { tokens: 50, calls: 1 });
    budget.check();
  });

  test('waits until enough slots have expired', () => {
    const { clock, budget, spend } = open();
    for (const _ of [1, 2, 3]) {
      spend(90);
      clock.advance(minuteMs);
    }
    // 270 tokens were spent, so two of the three entries must expire.
    assert.equal(refusal(() => budget.check()).data.retryAfterMs, 58 * minuteMs);
  });

  test('sums what is spent within a minute, in bounded memory', () => {
    const { clock, budget, spend } = open({ tokensPerHour: 1e9 });
    for (let at = 0; at < 10_000; at++) {
      spend(2);
      clock.advance(1_000);
    }
    assert.ok(budget.status.tokens >= 7_080 && budget.status.tokens <= 7_200);
  });

  test('never allows a call with a limit of 0 tokens', () => {
    const { budget, limits } = open({ tokensPerHour: 0 });
    assert.match(refusal(() => budget.check()).message, /tokens_per_hour/);
    limits.tokensPerHour = 1;
    budget.check();
  });
});

test('spent tokens are saved, and count in the next run until they are an hour old', () => {
  const { clock, limits } = open();
  let saved: readonly SpentTokens[] = [];
  const save = (history: readonly SpentTokens[]) => void (saved = history);
  const first = createBudget(() => limits, clock, { earlier: [], save });
  first.spent({ inputTokens: 60, outputTokens: 0 });
  clock.advance(30 * minuteMs);
  first.spent({ inputTokens: 50, outputTokens: 0 });
  assert.deepEqual(
    saved.map(({ tokens }) => tokens),
    [60, 50],
  );
  const next = createBudget(() => limits, clock, { earlier: saved, save });
  assert.equal(next.status.tokens, 110);
  refusal(() => next.check());
  clock.advance(30 * minuteMs);
  assert.equal(next.status.tokens, 50);
  next.check();
});

test('spent tokens from the future, before a clock was set back, block for an hour at most', () => {
  const { clock, limits } = open();
  const earlier = [{ at: clock.now() + 10 * 60 * minuteMs, tokens: 200 }];
  const budget = createBudget(() => limits, clock, { earlier, save() {} });
  refusal(() => budget.check());
  clock.advance(60 * minuteMs);
  budget.check();
});
