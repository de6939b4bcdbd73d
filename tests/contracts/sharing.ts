import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { type Clock, systemClock } from '#core';
import { type Permit, type SharedBreaker, type Sharing, createSharedBreaker } from '#resilience';
import { until } from './recorder.ts';

type SharingKind = {
  readonly name: string;
  /** Starts another hub that shares breakers with the other hubs of the test. */
  hub(): Promise<Sharing>;
};

/** Recovery times in ms: one that tests wait for, and one that never ends during a test. */
export const [soonMs, lateMs] = [150, 600_000];

/** Time in ms for which a dead hub keeps the trial. Most tests do not wait for its end. */
const leaseMs = 6_000;
/** Lease in ms for tests that wait for its end. */
const shortLeaseMs = 1_500;

let keys = 0;
/** Returns a key that no other test uses, nor an earlier run on the same Redis. */
export const newKey = (): string => `tested-${process.pid}-${Date.now()}-${++keys}`;

/** Creates the breaker of one hub. */
export function breakerOf(
  sharing: Sharing,
  key: string,
  recoveryMs: number,
  { clock = systemClock, ...more }: { readonly clock?: Clock; readonly leaseMs?: number } = {},
): SharedBreaker {
  const options = { failureThreshold: 3, recoveryMs, leaseMs, ...more };
  return createSharedBreaker(key, options, { clock, sharing });
}

/** Creates a clock that `stop` suspends like SIGSTOP: timers that fall due meanwhile run after `goOn`, if ever. */
function stoppableClock(): Clock & { stop(): void; goOn(): void } {
  let isStopped = false;
  const due: (() => void)[] = [];
  return {
    ...systemClock,
    after: (delayMs, work) =>
      systemClock.after(delayMs, () => {
        if (isStopped) due.push(work);
        else work();
      }),
    stop: () => void (isStopped = true),
    goOn() {
      isStopped = false;
      for (const work of due.splice(0)) work();
    },
  };
}

/** Opens the breaker with three failed calls. Fails if it does not admit them. */
export function breakServer(breaker: SharedBreaker, why = 'no answer'): void {
  for (let call = 1; call <= 3; call++) {
    const admission = breaker.admit();
    assert.ok(admission.kind === 'permit', `it is ${breaker.state}`);
    admission.failed(why);
  }
}

/** Returns the permit for the trial. Fails if this hub does not get it. */
export async function trialOf(breaker: SharedBreaker): Promise<Permit> {
  const admission = await breaker.trial();
  assert.ok(admission.kind === 'permit', 'the trial was refused');
  assert.ok(admission.trial, 'it is not on trial');
  return admission;
}

export function becomes(breaker: SharedBreaker, state: SharedBreaker['state']): Promise<void> {
  return until(() => breaker.state === state, `a breaker that is ${state}`);
}

/** Tests that every implementation of `Sharing` must pass. */
export function sharingContract(kind: SharingKind): void {
  const hubs = async (
    recoveryMs: number,
    run: (a: SharedBreaker, b: SharedBreaker, more: { readonly key: string }) => Promise<void>,
  ) => {
    const [one, other] = [await kind.hub(), await kind.hub()];
    const key = newKey();
    using a = breakerOf(one, key, recoveryMs);
    using b = breakerOf(other, key, recoveryMs);
    try {
      await run(a, b, { key });
    } finally {
      await Promise.all([one.stop(), other.stop()]);
    }
  };

  /** Runs a test with a half-open breaker in three hubs. The clock of the first one can be stopped. */
  const onTrial = async (
    run: (
      a: SharedBreaker,
      b: SharedBreaker,
      c: SharedBreaker,
      clock: ReturnType<typeof stoppableClock>,
    ) => Promise<void>,
  ) => {
    const places = [await kind.hub(), await kind.hub(), await kind.hub()] as const;
    const [key, clock] = [newKey(), stoppableClock()];
    const options = { leaseMs: shortLeaseMs };
    using a = breakerOf(places[0], key, soonMs, { clock, ...options });
    using b = breakerOf(places[1], key, soonMs, options);
    using c = breakerOf(places[2], key, soonMs, options);
    try {
      breakServer(a);
      await Promise.all([a, b, c].map(breaker => becomes(breaker, 'half_open')));
      await run(a, b, c, clock);
    } finally {
      await Promise.all(places.map(place => place.stop()));
    }
  };

  /** Asks for the trial every millisecond for `forMs`. Fails unless it is refused each time. */
  async function neverGets(breaker: SharedBreaker, forMs: number): Promise<void> {
    // Without the pause, this busy loop would delay the renewal of the lease.
    for (const since = performance.now(); performance.now() - since < forMs; await pause(1))
      assert.equal((await breaker.trial()).kind, 'refused');
  }

  describe(`breakers shared ${kind.name}`, () => {
    test('that one hub opens are open in the other within 100 ms, with the reason', () =>
      hubs(lateMs, async (a, b) => {
        // Open and close once, so that the first message after the start of the hubs is not measured.
        breakServer(a);
        await becomes(b, 'open');
        a.reset();
        await becomes(b, 'closed');
        const since = performance.now();
        breakServer(a, 'timed out');
        await becomes(b, 'open');
        const tookMs = performance.now() - since;
        assert.ok(tookMs < 100, `it took ${tookMs.toFixed(0)} ms`);
        const refused = b.admit();
        assert.ok(refused.kind === 'refused');
        assert.equal(refused.why, 'timed out');
        assert.equal(refused.failures, 3);
        const late = lateMs - refused.retryAfterMs;
        assert.ok(late >= -5 && late < 1_000, `${late} ms have passed there`);
      }));

    test('have their state in a hub that starts later', () =>
      hubs(lateMs, async (a, b, { key }) => {
        breakServer(a);
        await becomes(b, 'open');
        const third = await kind.hub();
        using c = breakerOf(third, key, lateMs);
        await becomes(c, 'open');
        const { until: due } = c.snapshot();
        assert.ok(Math.abs((due ?? 0) - (a.snapshot().until ?? 0)) < 1_000);
        await third.stop();
      }));

    test('do not affect a breaker of another key', () =>
      hubs(lateMs, async (a, b) => {
        const third = await kind.hub();
        using other = breakerOf(third, newKey(), lateMs);
        breakServer(a);
        await becomes(b, 'open');
        assert.equal(other.state, 'closed');
        await third.stop();
      }));

    test('admit exactly one trial for a hundred calls on each of two hubs', () =>
      hubs(soonMs, async (a, b) => {
        breakServer(a);
        await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
        const attempts = Array.from({ length: 100 }, () => [a.trial(), b.trial()]);
        const admissions = await Promise.all(attempts.flat());
        const permits = admissions.filter(({ kind: outcome }) => outcome === 'permit');
        assert.equal(permits.length, 1);
        for (const admission of admissions)
          if (admission.kind === 'refused')
            assert.ok(admission.retryAfterMs >= 1 && admission.retryAfterMs <= 1_000);
        const [permit] = permits;
        assert.ok(permit?.kind === 'permit' && permit.trial);
        permit.succeeded();
        await Promise.all([becomes(a, 'closed'), becomes(b, 'closed')]);
        assert.equal(b.admit().kind, 'permit');
      }));

    test('open in both hubs again after a failed trial', () =>
      hubs(soonMs, async (a, b) => {
        breakServer(a);
        await becomes(b, 'half_open');
        (await trialOf(b)).failed('still away');
        await until(() => a.snapshot().why === 'still away', 'the outcome of the trial');
        assert.equal(a.snapshot().failures, 4);
        await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
        (await trialOf(a)).succeeded();
        await becomes(b, 'closed');
      }));

    test('admit a trial on the other hub after one is cancelled', () =>
      hubs(soonMs, async (a, b) => {
        breakServer(a);
        await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
        (await trialOf(a)).cancelled();
        let permit = await b.trial();
        await until(
          () => {
            if (permit.kind === 'permit') return true;
            if (b.admit().kind === 'trial') void b.trial().then(next => (permit = next));
            return false;
          },
          'the trial',
          leaseMs / 2,
        );
        assert.ok(permit.kind === 'permit' && permit.trial);
        permit.succeeded();
        await becomes(a, 'closed');
      }));

    test('admit a new trial when the lease of a killed hub ends, and refusals say when', () =>
      onTrial(async (a, b, _, clock) => {
        await trialOf(a);
        clock.stop();
        const since = performance.now();
        const told: number[] = [];
        let admission = await b.trial();
        while (admission.kind === 'refused') {
          told.push(admission.retryAfterMs);
          // Retry exactly when the refusal says, like a well-behaved client.
          const next = performance.now() + admission.retryAfterMs;
          await until(() => performance.now() >= next, 'the time to try again');
          admission = await b.trial();
        }
        const tookMs = performance.now() - since;
        assert.ok(tookMs > shortLeaseMs - 100, `it was free after ${tookMs} ms`);
        assert.ok(tookMs < shortLeaseMs + 500, `it was free after ${tookMs} ms`);
        assert.ok(told.length <= 3, `it was told to come again after ${told.join(', ')} ms`);
        admission.succeeded();
        await becomes(a, 'closed');
      }));

    test('renew a trial for as long as its call takes', () =>
      onTrial(async (a, b) => {
        const permit = await trialOf(a);
        await neverGets(b, 2 * shortLeaseMs);
        permit.succeeded();
        await becomes(b, 'closed');
      }));

    test('ignore the renewal and the end of a trial that another hub has taken over', () =>
      onTrial(async (a, b, c, clock) => {
        const late = await trialOf(a);
        clock.stop();
        let taken = await b.trial();
        while (taken.kind === 'refused') {
          await pause(1);
          taken = await b.trial();
        }
        clock.goOn();
        late.cancelled();
        const since = performance.now();
        // Check before the next renewal, which would hide a change of the lease.
        await until(() => performance.now() - since > shortLeaseMs / 15, 'what they tell');
        await neverGets(c, shortLeaseMs);
        assert.ok(taken.current);
        taken.succeeded();
        await Promise.all([becomes(a, 'closed'), becomes(c, 'closed')]);
      }));

    test('are closed after a change of key, and the others keep their state', () =>
      hubs(lateMs, async (a, b) => {
        breakServer(a);
        await becomes(b, 'open');
        const other = newKey();
        b.rekey(other);
        assert.equal(b.state, 'closed');
        assert.equal(b.admit().kind, 'permit');
        a.rekey(other);
        assert.equal(a.state, 'closed');
        breakServer(b, 'the new one');
        await until(() => a.snapshot().why === 'the new one', 'what is told under the new key');
      }));

    test('are closed in both hubs by an operator', () =>
      hubs(lateMs, async (a, b) => {
        breakServer(a);
        await becomes(b, 'open');
        b.reset();
        await becomes(a, 'closed');
      }));

    test('agree in both hubs after opening and closing a hundred times', () =>
      hubs(lateMs, async (a, b) => {
        for (let round = 0; round < 100; round++) {
          breakServer(a);
          a.reset();
        }
        breakServer(a, 'the last');
        await until(() => b.snapshot().why === 'the last', 'the last decision');
        assert.equal(b.state, 'open');
      }));

    test('that are disposed get no changes, and the others still do', () =>
      hubs(lateMs, async (a, b, { key }) => {
        const third = await kind.hub();
        const left = breakerOf(third, key, lateMs);
        left[Symbol.dispose]();
        breakServer(a);
        await becomes(b, 'open');
        assert.equal(left.state, 'closed');
        await third.stop();
      }));
  });
}
