import { noRestarts } from './restart-policy.ts';
import {
  type Change,
  type Effect,
  type Facts,
  type Phase,
  type State,
  type Transition,
  statusOf,
} from './state.ts';

export const stay = (state: State): Transition => ({ state, effects: [] });

/** Enters a phase and publishes it, between the effects given. */
export function enter(
  { byHand, isClosed, restarts, history, variant }: State,
  phase: Phase,
  before: readonly Effect[],
  after: readonly Effect[],
): Transition {
  const state = { byHand, isClosed, restarts, history, variant, ...phase };
  return { state, effects: [...before, { type: 'publish', status: statusOf(state) }, ...after] };
}

export const launch = (state: State, { now }: Facts, change?: Change): Transition =>
  enter(
    state,
    { phase: 'starting', since: now, progress: 'launching', change },
    [],
    [{ type: 'launch', variant: state.variant }],
  );

/** Starts the server again once everything that runs has ended. */
export const queue = (
  state: State,
  { now }: Facts,
  before: readonly Effect[],
  after: readonly Effect[],
  change?: Change,
): Transition =>
  enter(
    { ...state, history: noRestarts },
    { phase: 'queued', since: now, progress: 'waiting for the previous instance to stop', change },
    before,
    [...after, { type: 'await_settled' }],
  );

export const detached = (state: State): readonly Effect[] =>
  state.phase === 'running' ? [{ type: 'detach' }] : [];

export const stopped = (state: State): readonly Effect[] =>
  state.phase === 'running' ? [{ type: 'stop_instance', instance: state.instance }] : [];

export const successorOf = (state: State) => ('successor' in state ? state.successor : undefined);

/** Ends a pending config change: the new config stays in use unless it was rolled back already. */
export function finished(state: State, error?: unknown): readonly Effect[] {
  const change = 'change' in state ? state.change : undefined;
  if (change?.kind === 'rollback') return [{ type: 'finish_change', error: change.error }];
  if (!change && !successorOf(state)) return [];
  if (error !== undefined) return [{ type: 'finish_change', error }];
  return [{ type: 'reset_admission' }, { type: 'finish_change' }];
}

export function start(before: State, facts: Facts): Transition {
  if (before.isClosed) return stay(before);
  const state = { ...before, byHand: false };
  switch (state.phase) {
    case 'stopped':
    case 'failed':
      return launch({ ...state, history: noRestarts }, facts);
    case 'stopping':
      return queue(state, facts, [], []);
    default:
      return stay(state);
  }
}

/** Stops whatever is under way. `hasEnded`: calls that come meanwhile wait for the next instance. */
export function stop(state: State, { now }: Facts, hasEnded = false): Transition {
  const forget: readonly Effect[] = [
    { type: 'hurry_draining' },
    { type: 'forget_handle', afterEnd: true },
  ];
  if (state.phase === 'stopping') return stay(state);
  if (state.phase === 'stopped' || state.phase === 'failed')
    return enter(state, { phase: 'stopped' }, [], forget);
  const successor = successorOf(state);
  return enter(
    state,
    { phase: 'stopping', since: now, hasEnded },
    [
      { type: 'cancel' },
      ...detached(state),
      ...(successor ? [{ type: 'use_config', config: successor.config } as const] : []),
    ],
    [...stopped(state), ...forget, ...finished(state)],
  );
}
