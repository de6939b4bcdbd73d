import { reconfigure } from './reconfigure.ts';
import { type Failure, decideRestart, historyAfterRun, noRestarts } from './restart-policy.ts';
import {
  type Effect,
  type Event,
  type Facts,
  type State,
  type Transition,
  statusOf,
} from './state.ts';
import {
  detached,
  enter,
  finished,
  launch,
  start,
  stay,
  stop,
  stopped,
  successorOf,
} from './transitions.ts';

type On<T extends Event['type']> = Extract<Event, { type: T }>;

/** The next state of a server, and the effects that the runner performs, in order. Pure. */
export function next(state: State, event: Event, facts: Facts): Transition {
  switch (event.type) {
    case 'start':
      return start(state, facts);
    case 'stop':
      return stop({ ...state, byHand: event.byHand ?? state.byHand }, facts);
    case 'close':
      return stop({ ...state, isClosed: true }, facts);
    case 'idle':
      return state.phase === 'running' ? stop(state, facts, true) : stay(state);
    case 'reconfigure':
      return reconfigure(state, event, facts);
    case 'progress': {
      if (!('progress' in state)) return stay(state);
      const told = { ...state, progress: event.text };
      return { state: told, effects: [{ type: 'publish', status: statusOf(told) }] };
    }
    case 'started':
      return started(state, event, facts);
    case 'start_failed':
      return startFailed(state, event, facts);
    case 'ended': {
      if (state.phase !== 'running' || state.instance !== event.instance) return stay(state);
      const { successor, instance } = state;
      return enter(
        state,
        { phase: 'reaping', since: facts.now, successor },
        [{ type: 'detach' }],
        [{ type: 'reap', instance }],
      );
    }
    case 'reaped':
      return reaped(state, event, facts);
    case 'delay_over': {
      if (state.phase !== 'retrying') return stay(state);
      const counts = state.status.state === 'backing_off' ? 1 : 0;
      return launch({ ...state, restarts: state.restarts + counts }, facts);
    }
    case 'settled':
      return settled(state, facts);
    case 'broken': {
      const { error, why } = event.failure;
      return enter(
        state,
        { phase: 'failed', since: facts.now, why },
        [{ type: 'cancel' }, ...detached(state), { type: 'record_failure', error }],
        [...stopped(state), ...finished(state, error)],
      );
    }
  }
}

function started(state: State, event: On<'started'>, { now }: Facts): Transition {
  const { instance, variant } = event;
  const successor = successorOf(state);
  // The launch completed although it was cancelled.
  if (state.phase !== 'starting' && !successor)
    return { state, effects: [{ type: 'stop_instance', instance }] };
  const replaced: readonly Effect[] =
    state.phase === 'running'
      ? [{ type: 'drain_instance', instance: state.instance, isReplaced: true }]
      : [];
  return enter(
    { ...state, variant, history: successor ? noRestarts : state.history },
    { phase: 'running', since: now, instance, successor: undefined },
    [
      ...(successor ? [{ type: 'use_config', config: successor.config } as const] : []),
      ...detached(state),
      { type: 'attach', instance },
    ],
    [...replaced, ...finished(state)],
  );
}

function startFailed(state: State, { failure }: On<'start_failed'>, facts: Facts): Transition {
  const refused: Effect = { type: 'finish_change', error: failure.error };
  switch (state.phase) {
    case 'starting': {
      if (state.change?.kind !== 'replace')
        return afterFailure(state, failure, facts, finished(state));
      const { error } = failure;
      const restored = launch({ ...state, history: noRestarts }, facts, {
        kind: 'rollback',
        error,
      });
      return {
        state: restored.state,
        effects: [
          { type: 'record_failure', error },
          { type: 'use_config', config: state.change.before },
          ...restored.effects,
        ],
      };
    }
    case 'running':
    case 'reaping':
      return state.successor
        ? { state: { ...state, successor: undefined }, effects: [refused] }
        : stay(state);
    case 'awaiting_successor':
      return afterFailure(state, state.failure, facts, [refused]);
    default:
      return stay(state);
  }
}

function reaped(state: State, { failure, ranMs, isLost }: On<'reaped'>, facts: Facts): Transition {
  // A successor that runs already has a handle of its own.
  if (state.phase === 'running') return stay(state);
  const forget: readonly Effect[] = isLost ? [] : [{ type: 'forget_handle', afterEnd: false }];
  if (state.phase !== 'reaping') return { state, effects: forget };
  const ended = { ...state, history: historyAfterRun(state.history, ranMs) };
  const { successor } = state;
  if (!successor) return afterFailure(ended, failure, facts, [], forget);
  const progress = 'waiting for its successor';
  const phase = 'awaiting_successor';
  return enter(ended, { phase, since: facts.now, progress, successor, failure }, forget, []);
}

/** Applies the restart policy to a start that failed or an instance that ended. */
function afterFailure(
  state: State,
  failure: Failure,
  facts: Facts,
  after: readonly Effect[],
  before: readonly Effect[] = [],
): Transition {
  const first: readonly Effect[] = [...before, { type: 'record_failure', error: failure.error }];
  // The next call of its session starts it again.
  if (facts.audience === 'session') {
    const status = { state: 'failed', since: facts.now, why: failure.why } as const;
    return enter(state, { phase: 'stopped' }, [...first, { type: 'publish', status }], after);
  }
  const { history, status, delayMs } = decideRestart(facts.config, state.history, failure, facts);
  const decided = { ...state, history };
  switch (status.state) {
    case 'stopped':
      return enter(decided, { phase: 'stopped' }, first, after);
    case 'failed':
      return enter(
        decided,
        { phase: 'failed', since: status.since, why: status.why },
        first,
        after,
      );
    default:
      return enter(decided, { phase: 'retrying', status }, first, [
        { type: 'delay', delayMs: delayMs ?? 0 },
        ...after,
      ]);
  }
}

function settled(state: State, facts: Facts): Transition {
  if (state.phase === 'stopping') return enter(state, { phase: 'stopped' }, [], []);
  if (state.phase === 'queued') return launch(state, facts, state.change);
  const successor = successorOf(state);
  if (!('successor' in state) || !successor || successor.isLaunched) return stay(state);
  const { config } = successor;
  const variant = state.variant === undefined ? successorVariant : undefined;
  return {
    state: { ...state, successor: { config, isLaunched: true } },
    effects: [{ type: 'launch_beside', config, variant }],
  };
}

/** The variant of an instance that replaces one without a variant. */
export const successorVariant = 'next';
