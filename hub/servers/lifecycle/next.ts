import {
  type ServerFailure,
  decideRestart,
  historyAfterRun,
  noRestarts,
} from './restart-policy.ts';
import {
  type Effect,
  type Facts,
  type LifecycleEvent,
  type LifecycleState,
  type Transition,
  detached,
  enter,
  finished,
  launch,
  queue,
  start,
  statusOf,
  stay,
  stop,
  stopped,
  succeeded,
  successorOf,
} from './state.ts';

type On<T extends LifecycleEvent['type']> = Extract<LifecycleEvent, { type: T }>;

/** Returns the next state of a server, and the effects that the runner performs, in order. Pure. */
export function next(state: LifecycleState, event: LifecycleEvent, facts: Facts): Transition {
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
      return stay(told, [{ type: 'publish', status: statusOf(told) }]);
    }
    case 'started':
      return started(state, event, facts);
    case 'start_failed':
      return startFailed(state, event, facts);
    case 'ended': {
      if (state.phase !== 'running' || state.instance !== event.instance) return stay(state);
      const { successor, instance } = state;
      const reaping = { phase: 'reaping', since: facts.now, successor } as const;
      return enter(state, reaping, [{ type: 'detach' }], [{ type: 'reap', instance }]);
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

function started(state: LifecycleState, event: On<'started'>, { now }: Facts): Transition {
  const { instance, variant, startedAt = now } = event;
  const successor = successorOf(state);
  // The launch was cancelled, but completed nevertheless.
  if (state.phase !== 'starting' && !successor)
    return stay(state, [{ type: 'stop_instance', instance }]);
  const replaced: readonly Effect[] =
    state.phase === 'running'
      ? [{ type: 'drain_instance', instance: state.instance, isReplaced: true }]
      : [];
  return enter(
    { ...state, variant, history: successor ? noRestarts : state.history },
    { phase: 'running', since: startedAt, instance, successor: undefined },
    [...succeeded(state), ...detached(state), { type: 'attach', instance }],
    [...replaced, ...finished(state)],
  );
}

function startFailed(
  state: LifecycleState,
  { failure }: On<'start_failed'>,
  facts: Facts,
): Transition {
  const { error } = failure;
  const refused: Effect = { type: 'finish_change', error };
  switch (state.phase) {
    case 'starting': {
      const { change } = state;
      if (change?.kind !== 'replace') return afterFailure(state, failure, facts, finished(state));
      const fresh = { ...state, history: noRestarts };
      const restored = launch(fresh, facts, { kind: 'rollback', error });
      return stay(restored.state, [
        { type: 'record_failure', error },
        { type: 'use_config', config: change.before },
        ...restored.effects,
      ]);
    }
    case 'running':
    case 'reaping':
      return state.successor ? stay({ ...state, successor: undefined }, [refused]) : stay(state);
    case 'awaiting_successor':
      return afterFailure(state, state.failure, facts, [refused]);
    default:
      return stay(state);
  }
}

function reaped(state: LifecycleState, event: On<'reaped'>, facts: Facts): Transition {
  const { failure, ranMs, isLost } = event;
  // Its successor runs already and has its own handle.
  if (state.phase === 'running') return stay(state);
  const forget: readonly Effect[] = isLost ? [] : [{ type: 'forget_handle', afterEnd: false }];
  if (state.phase !== 'reaping') return stay(state, forget);
  const ended = { ...state, history: historyAfterRun(state.history, ranMs) };
  const { successor } = state;
  if (!successor) return afterFailure(ended, failure, facts, [], forget);
  const progress = 'waiting for its successor';
  const phase = 'awaiting_successor';
  return enter(ended, { phase, since: facts.now, progress, successor, failure }, forget);
}

/** Applies the restart policy to a start that failed or an instance that ended. */
function afterFailure(
  state: LifecycleState,
  failure: ServerFailure,
  facts: Facts,
  after: readonly Effect[],
  before: readonly Effect[] = [],
): Transition {
  const first: readonly Effect[] = [...before, { type: 'record_failure', error: failure.error }];
  // The next call of the session starts the instance again.
  if (facts.audience === 'session') {
    const status = { state: 'failed', since: facts.now, why: failure.why } as const;
    return enter(state, { phase: 'stopped' }, [...first, { type: 'publish', status }], after);
  }
  const { history, status, delayMs } = decideRestart(facts.config, state.history, failure, facts);
  const decided = { ...state, history };
  if (status.state === 'stopped') return enter(decided, { phase: 'stopped' }, first, after);
  if (status.state === 'failed' || status.state === 'needs_login') {
    const { state: phase, since, why } = status;
    return enter(decided, { phase, since, why }, first, after);
  }
  const delay: Effect = { type: 'delay', delayMs: delayMs ?? 0 };
  return enter(decided, { phase: 'retrying', status }, first, [delay, ...after]);
}

function settled(state: LifecycleState, facts: Facts): Transition {
  if (state.phase === 'stopping') return enter(state, { phase: 'stopped' });
  if (state.phase === 'queued') return launch(state, facts, state.change);
  if (!('successor' in state) || !state.successor || state.successor.isLaunched) return stay(state);
  const { config } = state.successor;
  const variant = state.variant === undefined ? successorVariant : undefined;
  const launched = { ...state, successor: { config, isLaunched: true } };
  return stay(launched, [{ type: 'launch_beside', config, variant }]);
}

/**
 * Variant of an instance that replaces one without a variant. Variants alternate, so that both instances can run at
 * once.
 */
export const successorVariant = 'next';

/** Applies another config: at once, by a restart, or by a successor that starts beside the running instance. */
function reconfigure(state: LifecycleState, event: On<'reconfigure'>, facts: Facts): Transition {
  const { config, isReplaced } = event;
  const before = facts.config;
  const use: Effect = { type: 'use_config', config };
  const finish: Effect = { type: 'finish_change' };
  if (state.isClosed) return stay(state, [finish]);
  if (!config.enabled) {
    if (!before.enabled) return stay(state, [use, finish]);
    const ending = stop(state, facts);
    return stay(ending.state, [use, ...ending.effects, { ...finish, afterEnd: true }]);
  }
  const isActive = !['stopped', 'stopping', 'failed', 'needs_login'].includes(state.phase);
  if (isReplaced && before.enabled && isActive) return replace(state, event, facts);
  const fresh = { ...state, history: noRestarts };
  if (facts.audience !== 'all') return stay(fresh, [use, finish]);
  if (state.phase === 'failed' || state.phase === 'needs_login')
    return recover(fresh, event, facts);
  const wasOn = before.enabled && before.autoStart;
  const mayStart = state.phase === 'stopped' && !(state.byHand && before.enabled);
  if (!config.autoStart || !mayStart || wasOn) return stay(fresh, [use, finish]);
  const begun = start(fresh, facts);
  return stay(begun.state, [use, ...begun.effects, finish]);
}

/** Restarts a failed server with the new config, which may fix the failure, if only by a longer start timeout. */
function recover(state: LifecycleState, { config }: On<'reconfigure'>, facts: Facts): Transition {
  const ending = stop(state, facts);
  const effects: readonly Effect[] = [
    { type: 'use_config', config },
    ...ending.effects,
    { type: 'reset_admission' },
  ];
  const finish: Effect = { type: 'finish_change', afterEnd: true };
  return config.autoStart
    ? queue({ ...ending.state, byHand: false }, facts, effects, [finish])
    : stay(ending.state, [...effects, finish]);
}

/** Replaces the running or starting instance by an instance of the new config. */
function replace(state: LifecycleState, event: On<'reconfigure'>, facts: Facts): Transition {
  const { config, isExclusive } = event;
  if (state.phase === 'running' && !isExclusive) {
    const waiting = { ...state, successor: { config, isLaunched: false } };
    return stay(waiting, [{ type: 'hurry_draining' }, { type: 'await_settled' }]);
  }
  const before: readonly Effect[] = [
    { type: 'use_config', config },
    { type: 'cancel' },
    ...detached(state),
  ];
  if (state.phase !== 'running') return queue(state, facts, before, [{ type: 'finish_change' }]);
  const { instance } = state;
  const drain: Effect = { type: 'drain_instance', instance, isReplaced: false };
  return queue(state, facts, before, [drain], { kind: 'replace', before: facts.config });
}
