import type { ServerConfig } from '#config';
import type { ServerStatus } from '../server-types.ts';
import {
  type Moment,
  type RestartHistory,
  type ServerFailure,
  noRestarts,
} from './restart-policy.ts';

export type InstanceId = number;

/**
 * A replacement that is launched beside the running instance. `isLaunched` is false while earlier instances are ending.
 */
type Successor = { readonly config: ServerConfig; readonly isLaunched: boolean };

/** A config change that restarts the server: the replacement, or the rollback if the new config does not start. */
type Change = Readonly<
  { kind: 'replace'; before: ServerConfig } | { kind: 'rollback'; error: unknown }
>;

type Common = {
  /** True if the operator requested the last stop: calls do not start the server then. */
  readonly byHand: boolean;
  /** True if the server was removed, or the hub is stopping: it does not start again. */
  readonly isClosed: boolean;
  /** Number of restarts after failures, shown to the operator. */
  readonly restarts: number;
  readonly history: RestartHistory;
  /** Distinguishes the current instance from the one that it replaced. */
  readonly variant: string | undefined;
};

type Starting = { readonly since: number; readonly progress: string };

export type Phase = Readonly<
  | { phase: 'stopped' }
  /** A `queued` server waits until the previous instance has ended, then starts. */
  | ({ phase: 'queued' | 'starting'; change: Change | undefined } & Starting)
  | { phase: 'running'; since: number; instance: InstanceId; successor: Successor | undefined }
  /** The instance exited by itself or does not respond; the runner removes it. */
  | { phase: 'reaping'; since: number; successor: Successor | undefined }
  /** The old instance has ended, and its successor is still starting. */
  | ({ phase: 'awaiting_successor'; successor: Successor; failure: ServerFailure } & Starting)
  | { phase: 'retrying'; status: Extract<ServerStatus, { state: 'backing_off' | 'unreachable' }> }
  /** `isLasting`: the stop began by hand, so calls do not start the server again. */
  | { phase: 'stopping'; since: number; hasEnded: boolean; isLasting?: boolean }
  | { phase: 'failed' | 'needs_login'; since: number; why: string }
>;

export type LifecycleState = Common & Phase;

export type LifecycleEvent = Readonly<
  | { type: 'start' }
  /** Stops the server. `byHand`: true if calls must not start it again; absent: that does not change. */
  | { type: 'stop'; byHand?: boolean }
  | { type: 'close' }
  /** The running instance had no work for `idle_stop`. */
  | { type: 'idle' }
  /**
   * `isReplaced`: the launch differs, so a running instance must be replaced. `isExclusive`: the old and the new
   * instance must not run at the same time.
   */
  | { type: 'reconfigure'; config: ServerConfig; isReplaced: boolean; isExclusive: boolean }
  | { type: 'progress'; text: string }
  /** The server has started. `startedAt`: it was adopted, and has run since this time. */
  | { type: 'started'; instance: InstanceId; variant: string | undefined; startedAt?: number }
  | { type: 'start_failed'; failure: ServerFailure }
  /** The instance exited, closed its channel or stopped responding. */
  | { type: 'ended'; instance: InstanceId }
  /**
   * An ended instance was cleaned up. `isLost`: only the connection is lost; the instance may still run and can be
   * adopted.
   */
  | { type: 'reaped'; failure: ServerFailure; ranMs: number; isLost: boolean }
  | { type: 'delay_over' }
  /** No launch, stop or cleanup is running. */
  | { type: 'settled' }
  /** The runner failed because of a bug. */
  | { type: 'broken'; failure: ServerFailure }
>;

export type Effect = Readonly<
  | { type: 'publish'; status: ServerStatus }
  /** Launches the server, or adopts the instance of an earlier run. The event `started` or `start_failed` follows. */
  | { type: 'launch'; variant: string | undefined }
  /** Launches a successor. The event `started` or `start_failed` follows. */
  | { type: 'launch_beside'; config: ServerConfig; variant: string | undefined }
  /** Cancels launches and the restart delay. A launch that completes nevertheless dispatches `started`. */
  | { type: 'cancel' }
  /** From now on, routes calls to the instance and watches it. */
  | { type: 'attach'; instance: InstanceId }
  /** Routes no more calls to the running instance, and stops watching it. */
  | { type: 'detach' }
  /** Stops an instance and fails its calls. */
  | { type: 'stop_instance'; instance: InstanceId }
  /**
   * Stops an instance once its calls are answered, at the latest after the drain timeout. `isReplaced`: its successor
   * runs already; otherwise the next start waits until it has ended.
   */
  | { type: 'drain_instance'; instance: InstanceId; isReplaced: boolean }
  /** Stops all draining instances now; the next `settled` waits for them. */
  | { type: 'hurry_draining' }
  /** Cleans up after an instance that ended. The event `reaped` follows. */
  | { type: 'reap'; instance: InstanceId }
  /**
   * Drops the saved handle, so that no later start adopts the instance. `afterEnd`: only once all instances have ended.
   */
  | { type: 'forget_handle'; afterEnd: boolean }
  /** Waits before a restart. The event `delay_over` follows. */
  | { type: 'delay'; delayMs: number }
  /** Waits until no operation is running. The event `settled` follows, now or later. */
  | { type: 'await_settled' }
  | { type: 'record_failure'; error: unknown }
  | { type: 'use_config'; config: ServerConfig }
  /** Closes the breaker: failures with the old config do not count against the new one. */
  | { type: 'reset_admission' }
  /** Settles the promise of `reconfigure`, with an error if the new config was refused. */
  | { type: 'finish_change'; error?: unknown; afterEnd?: boolean }
>;

export type Transition = { readonly state: LifecycleState; readonly effects: readonly Effect[] };

/** Inputs of a transition besides the state and the event. */
export type Facts = Moment & {
  readonly config: ServerConfig;
  /** Who uses the server: all clients, the clients of one era, or one session. */
  readonly audience: 'all' | 'era' | 'session';
};

export const initialState: LifecycleState = {
  phase: 'stopped',
  byHand: false,
  isClosed: false,
  restarts: 0,
  history: noRestarts,
  variant: undefined,
};

export function statusOf(state: LifecycleState): ServerStatus {
  switch (state.phase) {
    case 'stopped':
      return { state: 'stopped', byHand: state.byHand };
    case 'queued':
    case 'starting':
    case 'awaiting_successor':
      return { state: 'starting', since: state.since, progress: state.progress };
    case 'running':
      return { state: 'running', since: state.since };
    case 'reaping':
      return { state: 'stopping', since: state.since, hasEnded: true };
    case 'retrying':
      return state.status;
    case 'stopping':
      return {
        state: 'stopping',
        since: state.since,
        hasEnded: state.hasEnded,
        ...(state.isLasting && { byHand: true }),
      };
    case 'failed':
      return { state: 'failed', since: state.since, why: state.why };
    case 'needs_login':
      return { state: 'needs_login', since: state.since, why: state.why };
  }
}

type Effects = readonly Effect[];

/** Returns a transition to this state, without publishing it. */
export const stay = (state: LifecycleState, effects: Effects = []): Transition => ({
  state,
  effects,
});

/** Enters a phase and publishes its status, after the effects `before` and before the effects `after`. */
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

/** Starts the server once all running instances have ended. */
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

/** Returns the effect that applies the config of the successor, if there is one. */
export function succeeded(state: LifecycleState): Effects {
  const successor = successorOf(state);
  return successor ? [{ type: 'use_config', config: successor.config }] : [];
}

/** Returns the effects that end a pending config change: the new config stays applied unless it was rolled back. */
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
    case 'needs_login':
      return launch({ ...state, history: noRestarts }, facts);
    case 'stopping':
      return queue(state, facts);
    default:
      return stay(state);
  }
}

/** Stops the server, or cancels its start. `hasEnded`: calls that arrive meanwhile wait for the next instance. */
export function stop(state: LifecycleState, { now }: Facts, hasEnded = false): Transition {
  const forget: Effects = [{ type: 'hurry_draining' }, { type: 'forget_handle', afterEnd: true }];
  if (state.phase === 'stopping') return stay(state);
  if (state.phase === 'stopped' || state.phase === 'failed' || state.phase === 'needs_login')
    return enter(state, { phase: 'stopped' }, [], forget);
  return enter(
    state,
    { phase: 'stopping', since: now, hasEnded, isLasting: state.byHand },
    [{ type: 'cancel' }, ...detached(state), ...succeeded(state)],
    [...stopped(state), ...forget, ...finished(state)],
  );
}
