import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type Breaker, type BreakerChange, type Permit, createBreaker } from '#resilience';

const options = { failureThreshold: 3, recoveryMs: 30_000, trialMs: 60_000 };

function scene() {
  const clock = createManualClock();
  const breaker = createBreaker(options, clock);
  const changes: BreakerChange[] = [];
  breaker.changed(change => changes.push(change));
  return { clock, breaker, changes };
}

/** Returns the permit of a call. Fails if the breaker refuses it. */
function permitOf(breaker: Breaker): Permit {
  const admission = breaker.claim();
  assert.ok(admission.kind === 'permit', `refused for ${JSON.stringify(admission)}`);
  return admission;
}

function fail(breaker: Breaker, times: number): void {
  for (let time = 1; time <= times; time++) permitOf(breaker).failed(`timeout ${time}`);
}

test('opens after three failures in a row, with the reason and the time until it closes', () => {
  const { clock, breaker, changes } = scene();
  clock.advance(1_000);
  fail(breaker, 2);
  assert.equal(breaker.state, 'closed');
  assert.equal(breaker.snapshot().failures, 2);
  fail(breaker, 1);
  const opened = {
    state: 'open',
    at: clock.now(),
    until: clock.now() + 30_000,
    why: 'timeout 1',
    failures: 3,
  };
  assert.deepEqual(breaker.snapshot(), opened);
  assert.deepEqual(changes, [{ ...opened, from: 'closed', origin: 'calls' }]);
});

test('a success in between restarts the count', () => {
  const { breaker } = scene();
  fail(breaker, 2);
  permitOf(breaker).succeeded();
  fail(breaker, 2);
  assert.equal(breaker.state, 'closed');
});

test('a call that its client cancels is neither a failure nor a success', () => {
  const { breaker } = scene();
  fail(breaker, 2);
  permitOf(breaker).cancelled();
  fail(breaker, 1);
  assert.equal(breaker.state, 'open');
});

test('refuses while open, with the remaining time', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(29_999.5);
  assert.deepEqual(breaker.admit(), {
    kind: 'refused',
    retryAfterMs: 1,
    why: 'timeout 3',
    failures: 3,
  });
});

test('closes when the trial succeeds, and counts from zero', () => {
  const { clock, breaker, changes } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  assert.equal(breaker.state, 'half_open');
  assert.equal(breaker.admit().kind, 'trial');
  permitOf(breaker).succeeded();
  assert.deepEqual(
    changes.map(({ from, state, origin }) => `${from} ${state} ${origin}`),
    ['closed open calls', 'open half_open time', 'half_open closed calls'],
  );
  fail(breaker, 2);
  assert.equal(breaker.state, 'closed');
});

test('opens for the full time again when the trial fails', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(40_000);
  permitOf(breaker).failed('still away');
  const { state, until, why, failures } = breaker.snapshot();
  assert.deepEqual(
    { state, until, why, failures },
    { state: 'open', until: clock.now() + 30_000, why: 'still away', failures: 4 },
  );
});

test('admits exactly one of a hundred calls as a trial', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  const claims = Array.from({ length: 100 }, () => breaker.claim());
  assert.equal(claims.filter(({ kind }) => kind === 'permit').length, 1);
  assert.deepEqual(claims[99], {
    kind: 'refused',
    retryAfterMs: 1_000,
    why: 'timeout 3',
    failures: 3,
  });
});

test('a trial that is cancelled lets another call try', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  const first = permitOf(breaker);
  first.cancelled();
  assert.equal(breaker.state, 'half_open');
  const second = permitOf(breaker);
  first.failed('late');
  assert.equal(breaker.state, 'half_open', 'what was given up no longer counts');
  second.succeeded();
  assert.equal(breaker.state, 'closed');
});

test('a trial that never ends is abandoned after its time', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  const endless = permitOf(breaker);
  clock.advance(59_999);
  assert.deepEqual(
    { ...breaker.admit() },
    {
      kind: 'refused',
      retryAfterMs: 1,
      why: 'timeout 3',
      failures: 3,
    },
  );
  clock.advance(1);
  assert.equal(endless.current, false);
  const second = permitOf(breaker);
  endless.succeeded();
  assert.equal(breaker.state, 'half_open');
  second.failed('again');
  assert.equal(breaker.state, 'open');
});

test('calls from before the opening neither close it nor open it again', () => {
  const { clock, breaker, changes } = scene();
  const old = Array.from({ length: 100 }, () => permitOf(breaker));
  for (const permit of old.slice(0, 50)) permit.failed('all at once');
  assert.equal(breaker.snapshot().failures, 3);
  old[60]?.succeeded();
  assert.equal(breaker.state, 'open');
  clock.advance(30_000);
  old[61]?.succeeded();
  old[62]?.failed('late');
  assert.equal(breaker.state, 'half_open');
  permitOf(breaker).succeeded();
  for (const permit of old.slice(70)) permit.failed('very late');
  assert.equal(breaker.state, 'closed');
  assert.equal(breaker.snapshot().failures, 0);
  assert.equal(changes.length, 3);
});

test('an operator closes the breaker, whatever the outcome of a trial in progress', () => {
  const { clock, breaker, changes } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  const trial = permitOf(breaker);
  breaker.reset();
  trial.failed('was the old one');
  assert.equal(breaker.state, 'closed');
  assert.equal(changes.at(-1)?.origin, 'operator');
  assert.equal(clock.waiting, 0, 'no timer is left');
});

test('adopts the state of another hub, with its remaining time', () => {
  const { clock, breaker, changes } = scene();
  const early = permitOf(breaker);
  breaker.adopt({ state: 'open', remainingMs: 5_000, failures: 7, why: 'seen elsewhere' });
  early.succeeded();
  assert.deepEqual(breaker.admit(), {
    kind: 'refused',
    retryAfterMs: 5_000,
    why: 'seen elsewhere',
    failures: 7,
  });
  clock.advance(5_000);
  const trial = permitOf(breaker);
  breaker.adopt({ state: 'closed', remainingMs: 0, failures: 0, why: '' });
  trial.failed('too late to count');
  assert.equal(breaker.state, 'closed');
  breaker.adopt({ state: 'open', remainingMs: 0, failures: 3, why: 'long ago' });
  assert.equal(breaker.admit().kind, 'trial', 'its time is over already');
  assert.deepEqual(
    changes.map(({ state, origin }) => `${state} ${origin}`),
    ['open others', 'half_open time', 'closed others', 'half_open others'],
  );
});

test('postpones a trial while another hub makes one', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  clock.advance(30_000);
  breaker.postpone(700);
  clock.advance(300);
  assert.deepEqual(
    { ...breaker.admit() },
    {
      kind: 'refused',
      retryAfterMs: 400,
      why: 'timeout 3',
      failures: 3,
    },
  );
  clock.advance(400);
  assert.equal(breaker.admit().kind, 'trial');
});

test('reports its state with durations for other hubs', () => {
  const { clock, breaker } = scene();
  assert.deepEqual(breaker.standing(), { state: 'closed', remainingMs: 0, failures: 0, why: '' });
  fail(breaker, 3);
  clock.advance(10_000);
  const open = { state: 'open', failures: 3, why: 'timeout 3' };
  assert.deepEqual(breaker.standing(), { ...open, remainingMs: 20_000 });
  clock.advance(20_000);
  assert.deepEqual(breaker.standing(), { ...open, remainingMs: 0 }, 'a trial is due');
});

test('admits a hundred thousand calls while closed without a new object', () => {
  const { breaker } = scene();
  const first = breaker.admit();
  for (let call = 0; call < 100_000; call++) {
    const admission = breaker.admit();
    if (admission !== first) assert.fail('it is another object');
    if (admission.kind === 'permit') admission.succeeded();
  }
});

test('leaves no timer behind when it is disposed', () => {
  const { clock, breaker } = scene();
  fail(breaker, 3);
  assert.equal(clock.waiting, 1);
  breaker[Symbol.dispose]();
  assert.equal(clock.waiting, 0);
});
