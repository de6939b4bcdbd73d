import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ServerStatus } from '#servers';
import {
  type Effect,
  type Facts,
  type LifecycleState,
  type Phase,
  finished,
  initialState,
  queue,
  start,
  statusOf,
  stop,
  succeeded,
} from '../../../hub/servers/lifecycle/state.ts';
import { configFor } from '../scripted.ts';

const config = configFor();
const facts: Facts = { config, audience: 'all', now: 5, monotonicMs: 7, random: 0 };
const stateIn = (phase: Phase): LifecycleState => ({ ...initialState, ...phase });
const names = (effects: readonly Effect[]) => effects.map(({ type }) => type);

const starting = { since: 1, progress: 'launching', change: undefined } as const;
const successor = { config: configFor({ description: 'second' }), isLaunched: true };
const failure = { error: new Error('boom'), why: 'boom', isClean: false };
const backingOff = { state: 'backing_off', until: 9, due: 9, why: 'boom' } as const;

test.each<[Phase, ServerStatus]>([
  [{ phase: 'stopped' }, { state: 'stopped', byHand: false }],
  [
    { phase: 'queued', ...starting },
    { state: 'starting', since: 1, progress: 'launching' },
  ],
  [
    { phase: 'starting', ...starting },
    { state: 'starting', since: 1, progress: 'launching' },
  ],
  [
    { phase: 'awaiting_successor', since: 1, progress: 'waiting', successor, failure },
    { state: 'starting', since: 1, progress: 'waiting' },
  ],
  [
    { phase: 'running', since: 1, instance: 1, successor },
    { state: 'running', since: 1 },
  ],
  [
    { phase: 'reaping', since: 1, successor: undefined },
    { state: 'stopping', since: 1, hasEnded: true },
  ],
  [{ phase: 'retrying', status: backingOff }, backingOff],
  [
    { phase: 'stopping', since: 1, hasEnded: false },
    { state: 'stopping', since: 1, hasEnded: false },
  ],
  [
    { phase: 'failed', since: 1, why: 'boom' },
    { state: 'failed', since: 1, why: 'boom' },
  ],
])('the status of %o', (phase, status) => {
  assert.deepEqual(statusOf(stateIn(phase)), status);
});

test('the status of a server that is being stopped by hand says so', () => {
  const running = stateIn({ phase: 'running', since: 1, instance: 1, successor: undefined });
  const { state } = stop({ ...running, byHand: true }, facts);
  assert.deepEqual(statusOf(state), {
    state: 'stopping',
    since: 5,
    hasEnded: false,
    byHand: true,
  });
});

test('a start clears that the server was stopped by hand, even while it runs', () => {
  for (const phase of [
    { phase: 'stopped' },
    { phase: 'running', since: 1, instance: 1, successor: undefined },
    { phase: 'retrying', status: backingOff },
  ] as const) {
    const { state } = start({ ...stateIn(phase), byHand: true }, facts);
    assert.equal(state.byHand, false, phase.phase);
  }
});

test('a start clears earlier failures, and waits for the end of a stop', () => {
  const history = { failures: 3, restartsMs: [1, 2, 3] };
  const failed = { ...stateIn({ phase: 'failed', since: 1, why: 'boom' }), history };
  const again = start(failed, facts);
  assert.deepEqual(again.state.history, { failures: 0, restartsMs: [] });
  assert.deepEqual(names(again.effects), ['publish', 'launch']);
  const stopping = stateIn({ phase: 'stopping', since: 1, hasEnded: false });
  const waiting = start({ ...stopping, history }, facts);
  assert.equal(waiting.state.phase, 'queued');
  assert.deepEqual(waiting.state.history, { failures: 0, restartsMs: [] });
  assert.deepEqual(names(waiting.effects), ['publish', 'await_settled']);
});

test('a start of a closed server changes nothing', () => {
  const closed = { ...stateIn({ phase: 'stopped' }), isClosed: true, byHand: true };
  assert.deepEqual(start(closed, facts), { state: closed, effects: [] });
});

test('a stop of a server that has exited lets calls wait for the next instance', () => {
  const running = stateIn({ phase: 'running', since: 1, instance: 1, successor: undefined });
  const idle = stop(running, facts, true).state;
  assert.deepEqual(statusOf(idle), { state: 'stopping', since: 5, hasEnded: true });
  assert.deepEqual(stop(idle, facts), { state: idle, effects: [] }, 'a second stop is none');
});

test('a queued start keeps the effects of its cause around the publication', () => {
  const { effects } = queue(
    stateIn({ phase: 'stopped' }),
    facts,
    [{ type: 'cancel' }],
    [{ type: 'finish_change' }],
  );
  assert.deepEqual(names(effects), ['cancel', 'publish', 'finish_change', 'await_settled']);
});

test('the config of a successor is used once it takes over', () => {
  const running = stateIn({ phase: 'running', since: 1, instance: 1, successor });
  assert.deepEqual(succeeded(running), [{ type: 'use_config', config: successor.config }]);
  assert.deepEqual(
    succeeded(stateIn({ phase: 'running', since: 1, instance: 1, successor: undefined })),
    [],
  );
});

test('the end of a change reports its error, and closes the breaker only for a new config', () => {
  const replace = { kind: 'replace', before: config } as const;
  const rollback = { kind: 'rollback', error: 'refused' } as const;
  const changing = (change: typeof replace | typeof rollback | undefined) =>
    stateIn({ phase: 'starting', since: 1, progress: '', change });
  assert.deepEqual(finished(changing(undefined), 'boom'), []);
  assert.deepEqual(finished(changing(rollback), 'boom'), [
    { type: 'finish_change', error: 'refused' },
  ]);
  assert.deepEqual(finished(changing(replace), 'boom'), [{ type: 'finish_change', error: 'boom' }]);
  assert.deepEqual(finished(changing(replace)), [
    { type: 'reset_admission' },
    { type: 'finish_change' },
  ]);
});
