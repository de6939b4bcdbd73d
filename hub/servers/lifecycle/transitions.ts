import { noRestarts } from './restart-policy.ts';
import {
  type Change,
  type Effect,
  type Facts,
  type LifecycleState,
  type Phase,
  type Transition,
  statusOf,
} from './state.ts';

type Effects = readonly Effect[];

/** The state as given, without publishing it. */
export const stay = (state: LifecycleState, effects: Effects = []): Transition => ({
  state,
  effects,
});

/** Enters a phase and publishes it, between the effects given. */
export function enter(
  { byHand, isClosed, restarts, history, variant }: LifecycleState,
  phase: Phase,
  before: Effects = [],
  after: Effects = [],
): Transition {
  const state = { byHand, isClosed, restarts, history, variant, ...phase };
  return { state, effects: [...before, { type: 'publish', status: statusOf(state) }, ...after] };
}

export function launch(state: LifecycleState, { now }: Facts, change?: Change): Transition {
  const phase = { phase: 'starting', since: now, progress: 'launching', change } as const;
  return enter(state, phase, [], [{ type: 'launch', variant: state.variant }]);
}

/** Starts the server again once everything that runs has ended. */
export function queue(
  state: LifecycleState,
  { now }: Facts,
  before: Effects = [],
  after: Effects = [],
  change?: Change,
): Transition {
  const progress = 'waiting for the previous instance to stop';
  const phase = { phase: 'queued', since: now, progress, change } as const;
  const effects: Effects = [...after, { type: 'await_settled' }];
  return enter({ ...state, history: noRestarts }, phase, before, effects);
}

export const detached = (state: LifecycleState): Effects =>
  state.phase === 'running' ? [{ type: 'detach' }] : [];

export const stopped = (state: LifecycleState): Effects =>
  state.phase === 'running' ? [{ type: 'stop_instance', instance: state.instance }] : [];

export const successorOf = (state: LifecycleState) =>
  'successor' in state ? state.successor : undefined;

/** Uses the config of the successor, if there is one. */
export function succeeded(state: LifecycleState): Effects {
  const successor = successorOf(state);
  return successor ? [{ type: 'use_config', config: successor.config }] : [];
}

/** Ends a pending config change: the new config stays in use unless it was rolled back already. */
export function finished(state: LifecycleState, error?: unknown): Effects {
  const change = 'change' in state ? state.change : undefined;
  if (change?.kind === 'rollback') return [{ type: 'finish_change', error: change.error }];
  if (!change && !successorOf(state)) return [];
  if (error !== undefined) return [{ type: 'finish_change', error }];
  return [{ type: 'reset_admission' }, { type: 'finish_change' }];
}

export function start(before: LifecycleState, facts: Facts): Transition {
  if (before.isClosed) return stay(before);
  const state = { ...before, byHand: false };
  switch (state.phase) {
    case 'stopped':
    case 'failed':
      return launch({ ...state, history: noRestarts }, facts);
    case 'stopping':
      return queue(state, facts);
    default:
      return stay(state);
  }
}

/** Stops whatever is under way. `hasEnded`: calls that come meanwhile wait for the next instance. */
export function stop(state: LifecycleState, { now }: Facts, hasEnded = false): Transition {
  const forget: Effects = [{ type: 'hurry_draining' }, { type: 'forget_handle', afterEnd: true }];
  if (state.phase === 'stopping') return stay(state);
  if (state.phase === 'stopped' || state.phase === 'failed')
    return enter(state, { phase: 'stopped' }, [], forget);
  return enter(
    state,
    { phase: 'stopping', since: now, hasEnded },
    [{ type: 'cancel' }, ...detached(state), ...succeeded(state)],
    [...stopped(state), ...forget, ...finished(state)],
  );
}
