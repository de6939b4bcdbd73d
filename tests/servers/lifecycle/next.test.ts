import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { next } from '../../../hub/servers/lifecycle/next.ts';
import { type ServerFailure, noRestarts } from '../../../hub/servers/lifecycle/restart-policy.ts';
import {
  type Facts,
  type LifecycleEvent,
  type LifecycleState,
  type Phase,
  type Transition,
  initialState,
  statusOf,
} from '../../../hub/servers/lifecycle/state.ts';
import { configFor } from '../scripted.ts';

const old = configFor({ description: 'old' });
const successorConfig = configFor({ description: 'successor' });
const failure: ServerFailure = { error: new Error('boom'), why: 'boom', isClean: false };
const facts: Facts = { config: old, audience: 'all', now: 5, monotonicMs: 7, random: 0 };

const waiting = { config: successorConfig, isLaunched: false };
const launched = { config: successorConfig, isLaunched: true };
const starting = { since: 1, progress: 'launching' };
const replacing = { kind: 'replace', before: old } as const;
const rollingBack = { kind: 'rollback', error: 'refused' } as const;

const phases = {
  stopped: { phase: 'stopped' },
  queued: { phase: 'queued', ...starting, change: undefined },
  'queued, replacing': { phase: 'queued', ...starting, change: replacing },
  starting: { phase: 'starting', ...starting, change: undefined },
  'starting, replacing': { phase: 'starting', ...starting, change: replacing },
  'starting, rolling back': { phase: 'starting', ...starting, change: rollingBack },
  running: { phase: 'running', since: 1, instance: 1, successor: undefined },
  'running, successor waiting': { phase: 'running', since: 1, instance: 1, successor: waiting },
  'running, successor launched': { phase: 'running', since: 1, instance: 1, successor: launched },
  reaping: { phase: 'reaping', since: 1, successor: undefined },
  'reaping, successor launched': { phase: 'reaping', since: 1, successor: launched },
  'awaiting successor': { phase: 'awaiting_successor', ...starting, successor: launched, failure },
  'awaiting successor, waiting': {
    phase: 'awaiting_successor',
    ...starting,
    successor: waiting,
    failure,
  },
  'backing off': {
    phase: 'retrying',
    status: { state: 'backing_off', until: 9, due: 9, why: 'boom' },
  },
  unreachable: {
    phase: 'retrying',
    status: {
      state: 'unreachable',
      since: 1,
      until: 9,
      due: 9,
      code: 'HUB_ENGINE_UNREACHABLE',
      why: 'away',
    },
  },
  stopping: { phase: 'stopping', since: 1, hasEnded: false },
  failed: { phase: 'failed', since: 1, why: 'boom' },
} satisfies Record<string, Phase>;

const changed = configFor({ description: 'changed' });
const reconfigured = { type: 'reconfigure', config: changed } as const;

const events = {
  start: { type: 'start' },
  stop: { type: 'stop', byHand: true },
  close: { type: 'close' },
  idle: { type: 'idle' },
  apply: { ...reconfigured, isReplaced: false, isExclusive: false },
  replace: { ...reconfigured, isReplaced: true, isExclusive: false },
  'replace, exclusive': { ...reconfigured, isReplaced: true, isExclusive: true },
  disable: {
    type: 'reconfigure',
    config: configFor({ enabled: false }),
    isReplaced: true,
    isExclusive: false,
  },
  progress: { type: 'progress', text: 'pulling' },
  started: { type: 'started', instance: 2, variant: 'next' },
  'start failed': { type: 'start_failed', failure },
  ended: { type: 'ended', instance: 1 },
  'another ended': { type: 'ended', instance: 3 },
  reaped: { type: 'reaped', failure, ranMs: 10, isLost: false },
  'reaped, lost': { type: 'reaped', failure, ranMs: 10, isLost: true },
  'delay over': { type: 'delay_over' },
  settled: { type: 'settled' },
  broken: { type: 'broken', failure },
} satisfies Record<string, LifecycleEvent>;

const stateIn = (phase: Phase): LifecycleState => ({ ...initialState, ...phase });

/** Returns the phase and the effects as one line: `phase: effect effect`. */
function summary({ state, effects }: Transition): string {
  const names = effects.map(effect => {
    switch (effect.type) {
      case 'publish':
        return `<${effect.status.state}>`;
      case 'use_config':
        return `use_config(${effect.config.description ?? ''})`;
      case 'finish_change':
        return effect.error !== undefined
          ? 'finish_change(refused)'
          : `finish_change${effect.afterEnd ? '(after end)' : ''}`;
      case 'forget_handle':
        return `forget_handle${effect.afterEnd ? '(after end)' : ''}`;
      case 'drain_instance':
        return `drain_instance(${effect.isReplaced ? 'replaced' : 'stopped'})`;
      default:
        return effect.type;
    }
  });
  const suffix = state.phase !== 'stopped' && 'successor' in state && state.successor ? '+' : '';
  return [`${state.phase}${suffix}:`, ...names].join(' ');
}

/**
 * Transitions of all phases, as `phase: effects`; `<state>` publishes a status, and `+` marks a successor. Events that
 * are not listed change nothing. The runner serializes config changes, so none arrives while one is pending.
 */
const table: Readonly<Record<keyof typeof phases, Readonly<Record<string, string>>>> = {
  stopped: {
    start: 'starting: <starting> launch',
    stop: 'stopped: <stopped> hurry_draining forget_handle(after end)',
    close: 'stopped: <stopped> hurry_draining forget_handle(after end)',
    apply: 'stopped: use_config(changed) finish_change',
    replace: 'stopped: use_config(changed) finish_change',
    'replace, exclusive': 'stopped: use_config(changed) finish_change',
    disable:
      'stopped: use_config(first) <stopped> hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'stopped: stop_instance',
    reaped: 'stopped: forget_handle',
    broken: 'failed: cancel record_failure <failed>',
  },
  queued: {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    close: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    apply: 'queued: use_config(changed) finish_change',
    replace: 'queued: use_config(changed) cancel <starting> finish_change await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel <starting> finish_change await_settled',
    disable:
      'stopping: use_config(first) cancel <stopping> hurry_draining forget_handle(after end) finish_change(after end)',
    progress: 'queued: <starting>',
    started: 'queued: stop_instance',
    reaped: 'queued: forget_handle',
    settled: 'starting: <starting> launch',
    broken: 'failed: cancel record_failure <failed>',
  },
  'queued, replacing': {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    progress: 'queued: <starting>',
    started: 'queued: stop_instance',
    reaped: 'queued: forget_handle',
    settled: 'starting: <starting> launch',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  starting: {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    close: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    apply: 'starting: use_config(changed) finish_change',
    replace: 'queued: use_config(changed) cancel <starting> finish_change await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel <starting> finish_change await_settled',
    disable:
      'stopping: use_config(first) cancel <stopping> hurry_draining forget_handle(after end) finish_change(after end)',
    progress: 'starting: <starting>',
    started: 'running: attach <running>',
    'start failed': 'retrying: record_failure <backing_off> delay',
    reaped: 'starting: forget_handle',
    broken: 'failed: cancel record_failure <failed>',
  },
  'starting, replacing': {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    progress: 'starting: <starting>',
    started: 'running: attach <running> reset_admission finish_change',
    'start failed': 'starting: record_failure use_config(old) <starting> launch',
    reaped: 'starting: forget_handle',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  'starting, rolling back': {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end) finish_change(refused)',
    close:
      'stopping: cancel <stopping> hurry_draining forget_handle(after end) finish_change(refused)',
    progress: 'starting: <starting>',
    started: 'running: attach <running> finish_change(refused)',
    'start failed': 'retrying: record_failure <backing_off> delay finish_change(refused)',
    reaped: 'starting: forget_handle',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  running: {
    stop: 'stopping: cancel detach <stopping> stop_instance hurry_draining forget_handle(after end)',
    close:
      'stopping: cancel detach <stopping> stop_instance hurry_draining forget_handle(after end)',
    idle: 'stopping: cancel detach <stopping> stop_instance hurry_draining forget_handle(after end)',
    apply: 'running: use_config(changed) finish_change',
    replace: 'running+: hurry_draining await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel detach <starting> drain_instance(stopped) await_settled',
    disable:
      'stopping: use_config(first) cancel detach <stopping> stop_instance hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'running: stop_instance',
    ended: 'reaping: detach <stopping> reap',
    broken: 'failed: cancel detach record_failure <failed> stop_instance',
  },
  'running, successor waiting': {
    stop: 'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    idle: 'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    started:
      'running: use_config(successor) detach attach <running> drain_instance(replaced) reset_admission finish_change',
    'start failed': 'running: finish_change(refused)',
    ended: 'reaping+: detach <stopping> reap',
    settled: 'running+: launch_beside',
    broken: 'failed: cancel detach record_failure <failed> stop_instance finish_change(refused)',
  },
  'running, successor launched': {
    stop: 'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    idle: 'stopping: cancel detach use_config(successor) <stopping> stop_instance hurry_draining forget_handle(after end) reset_admission finish_change',
    started:
      'running: use_config(successor) detach attach <running> drain_instance(replaced) reset_admission finish_change',
    'start failed': 'running: finish_change(refused)',
    ended: 'reaping+: detach <stopping> reap',
    broken: 'failed: cancel detach record_failure <failed> stop_instance finish_change(refused)',
  },
  reaping: {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    close: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    apply: 'reaping: use_config(changed) finish_change',
    replace: 'queued: use_config(changed) cancel <starting> finish_change await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel <starting> finish_change await_settled',
    disable:
      'stopping: use_config(first) cancel <stopping> hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'reaping: stop_instance',
    reaped: 'retrying: forget_handle record_failure <backing_off> delay',
    'reaped, lost': 'retrying: record_failure <backing_off> delay',
    broken: 'failed: cancel record_failure <failed>',
  },
  'reaping, successor launched': {
    stop: 'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    started: 'running: use_config(successor) attach <running> reset_admission finish_change',
    'start failed': 'reaping: finish_change(refused)',
    reaped: 'awaiting_successor+: forget_handle <starting>',
    'reaped, lost': 'awaiting_successor+: <starting>',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  'awaiting successor': {
    stop: 'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    progress: 'awaiting_successor+: <starting>',
    started: 'running: use_config(successor) attach <running> reset_admission finish_change',
    'start failed': 'retrying: record_failure <backing_off> delay finish_change(refused)',
    reaped: 'awaiting_successor+: forget_handle',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  'awaiting successor, waiting': {
    stop: 'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    close:
      'stopping: cancel use_config(successor) <stopping> hurry_draining forget_handle(after end) reset_admission finish_change',
    progress: 'awaiting_successor+: <starting>',
    started: 'running: use_config(successor) attach <running> reset_admission finish_change',
    'start failed': 'retrying: record_failure <backing_off> delay finish_change(refused)',
    reaped: 'awaiting_successor+: forget_handle',
    settled: 'awaiting_successor+: launch_beside',
    broken: 'failed: cancel record_failure <failed> finish_change(refused)',
  },
  'backing off': {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    close: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    apply: 'retrying: use_config(changed) finish_change',
    replace: 'queued: use_config(changed) cancel <starting> finish_change await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel <starting> finish_change await_settled',
    disable:
      'stopping: use_config(first) cancel <stopping> hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'retrying: stop_instance',
    reaped: 'retrying: forget_handle',
    'delay over': 'starting: <starting> launch',
    broken: 'failed: cancel record_failure <failed>',
  },
  unreachable: {
    stop: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    close: 'stopping: cancel <stopping> hurry_draining forget_handle(after end)',
    apply: 'retrying: use_config(changed) finish_change',
    replace: 'queued: use_config(changed) cancel <starting> finish_change await_settled',
    'replace, exclusive':
      'queued: use_config(changed) cancel <starting> finish_change await_settled',
    disable:
      'stopping: use_config(first) cancel <stopping> hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'retrying: stop_instance',
    reaped: 'retrying: forget_handle',
    'delay over': 'starting: <starting> launch',
    broken: 'failed: cancel record_failure <failed>',
  },
  stopping: {
    start: 'queued: <starting> await_settled',
    stop: 'stopping:',
    close: 'stopping:',
    apply: 'stopping: use_config(changed) finish_change',
    replace: 'stopping: use_config(changed) finish_change',
    'replace, exclusive': 'stopping: use_config(changed) finish_change',
    disable: 'stopping: use_config(first) finish_change(after end)',
    started: 'stopping: stop_instance',
    reaped: 'stopping: forget_handle',
    settled: 'stopped: <stopped>',
    broken: 'failed: cancel record_failure <failed>',
  },
  failed: {
    start: 'starting: <starting> launch',
    stop: 'stopped: <stopped> hurry_draining forget_handle(after end)',
    close: 'stopped: <stopped> hurry_draining forget_handle(after end)',
    apply:
      'queued: use_config(changed) <stopped> hurry_draining forget_handle(after end) reset_admission <starting> finish_change(after end) await_settled',
    replace:
      'queued: use_config(changed) <stopped> hurry_draining forget_handle(after end) reset_admission <starting> finish_change(after end) await_settled',
    'replace, exclusive':
      'queued: use_config(changed) <stopped> hurry_draining forget_handle(after end) reset_admission <starting> finish_change(after end) await_settled',
    disable:
      'stopped: use_config(first) <stopped> hurry_draining forget_handle(after end) finish_change(after end)',
    started: 'failed: stop_instance',
    reaped: 'failed: forget_handle',
    broken: 'failed: cancel record_failure <failed>',
  },
};

const isPending = (phase: Phase): boolean =>
  ('change' in phase && phase.change !== undefined) ||
  ('successor' in phase && phase.successor !== undefined);

describe.each(Object.entries(phases))('%s', (phaseName, phase: Phase) => {
  const row: Readonly<Record<string, string>> =
    Object.entries(table).find(([name]) => name === phaseName)?.[1] ?? assert.fail(phaseName);
  const possible = Object.entries<LifecycleEvent>(events).filter(
    ([, { type }]) => type !== 'reconfigure' || !isPending(phase),
  );
  test.each(possible)('%s', (eventName, event) => {
    const state = stateIn(phase);
    const transition = next(state, event, facts);
    const expected = row[eventName];
    if (expected !== undefined) return assert.equal(summary(transition), expected);
    assert.deepEqual(transition, { state, effects: [] });
  });

  test('publishes the status of its last state, for any event', () => {
    for (const [, event] of possible) {
      const { state, effects } = next(stateIn(phase), event, facts);
      const published = effects.flatMap(effect => (effect.type === 'publish' ? effect.status : []));
      assert.deepEqual(published.at(-1) ?? statusOf(stateIn(phase)), statusOf(state));
    }
  });
});

const after = (phase: Phase, event: LifecycleEvent, more: Partial<Facts> = {}) =>
  next(stateIn(phase), event, { ...facts, ...more });

describe('an operator', () => {
  test('who stopped a server keeps calls from starting it, until a start', () => {
    const { state } = after(phases.running, events.stop);
    const stopped = next(state, events.settled, facts);
    assert.deepEqual(statusOf(stopped.state), { state: 'stopped', byHand: true });
    const again = next(stopped.state, events.start, facts);
    assert.equal(again.state.byHand, false);
  });

  test('who stopped a server takes precedence over a config that starts it', () => {
    const state = { ...stateIn(phases.stopped), byHand: true };
    const before = configFor({ autoStart: false });
    const { state: kept } = next(state, events.apply, { ...facts, config: before });
    assert.equal(kept.phase, 'stopped');
    const { state: begun } = after(phases.stopped, events.apply, { config: before });
    assert.equal(begun.phase, 'starting');
  });
});

test('a closed server does not start', () => {
  const { state } = after(phases.running, events.close);
  for (const event of [events.start, events.settled, events.start, events.apply, events.replace])
    assert.notEqual(next(state, event, facts).state.phase, 'starting');
});

test('an instance per session is failed, and then stopped until the next call', () => {
  const session = { audience: 'session' } as const;
  assert.equal(
    summary(after(phases.reaping, events.reaped, session)),
    'stopped: forget_handle record_failure <failed> <stopped>',
  );
  assert.equal(
    summary(after(phases.starting, events['start failed'], session)),
    'stopped: record_failure <failed> <stopped>',
  );
});

test('a config change starts and restores no instance per session or era', () => {
  for (const audience of ['session', 'era'] as const) {
    const off = configFor({ enabled: false });
    for (const phase of [phases.stopped, phases.failed])
      assert.equal(after(phase, events.apply, { audience, config: off }).state.phase, phase.phase);
  }
});

test('a restart after a crash counts, but not one after an outage of the engine', () => {
  assert.equal(after(phases['backing off'], events['delay over']).state.restarts, 1);
  assert.equal(after(phases.unreachable, events['delay over']).state.restarts, 0);
});

test('a failed rollback ends like any failed start, and reports the error of the new config', () => {
  const refused = after(phases['starting, replacing'], events['start failed']);
  assert.deepEqual(refused.state.phase === 'starting' && refused.state.change, {
    kind: 'rollback',
    error: failure.error,
  });
  const { state, effects } = after(phases['starting, rolling back'], events['start failed']);
  assert.equal(state.phase, 'retrying');
  assert.deepEqual(effects.at(-1), { type: 'finish_change', error: 'refused' });
});

test('an adopted process runs since its own start', () => {
  const sinceOf = (event: LifecycleEvent) => {
    const { state } = after(phases.starting, event);
    return state.phase === 'running' ? state.since : assert.fail(state.phase);
  };
  assert.equal(sinceOf(events.started), facts.now);
  assert.equal(sinceOf({ ...events.started, startedAt: 2 }), 2);
});

test('the crash counter of a successor that runs starts from 0', () => {
  const history = { failures: 3, restartsMs: [1, 2, 3] };
  const state = { ...stateIn(phases['running, successor launched']), history };
  assert.deepEqual(next(state, events.started, facts).state.history, noRestarts);
  const alone = { ...stateIn(phases.starting), history };
  assert.deepEqual(next(alone, events.started, facts).state.history, history);
});

test('a successor has the other variant', () => {
  const state = stateIn(phases['running, successor waiting']);
  const variantOf = (one: LifecycleState) => {
    const [effect] = next(one, events.settled, facts).effects;
    return effect?.type === 'launch_beside' ? effect.variant : assert.fail('nothing is launched');
  };
  assert.equal(variantOf(state), 'next');
  assert.equal(variantOf({ ...state, variant: 'next' }), undefined);
});

test('an error that the operator must correct is not retried', () => {
  const error = new HubError('HUB_CONFIG_INVALID', 'no such folder');
  const refused: ServerFailure = { error, why: 'no such folder', isClean: false };
  const { state } = after(phases.starting, { type: 'start_failed', failure: refused });
  assert.deepEqual(statusOf(state), { state: 'failed', since: 5, why: 'no such folder' });
});
