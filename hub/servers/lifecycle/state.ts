import type { ServerConfig } from '#config';
import type { ServerStatus } from '../server-types.ts';
import { type Failure, type Moment, type RestartHistory, noRestarts } from './restart-policy.ts';

/** Identifies an instance within one server. */
export type InstanceId = number;

/** A replacement that is launched beside the running instance, once earlier instances have ended. */
export type Successor = { readonly config: ServerConfig; readonly isLaunched: boolean };

/** A config change that restarts the server, with the rollback if the new config does not start. */
export type Change =
  | { readonly kind: 'replace'; readonly before: ServerConfig }
  | { readonly kind: 'rollback'; readonly error: unknown };

type Common = {
  /** The last stop was requested by the operator: calls do not start the server. */
  readonly byHand: boolean;
  /** Closed for good. */
  readonly isClosed: boolean;
  /** Restarts after a failure, for the operator. */
  readonly restarts: number;
  readonly history: RestartHistory;
  /** Tells the current instance from the one it replaced. */
  readonly variant: string | undefined;
};

type Starting = {
  readonly since: number;
  readonly progress: string;
  readonly change: Change | undefined;
};

export type Phase =
  | { readonly phase: 'stopped' }
  /** Waits until the previous instance has ended, then starts. */
  | ({ readonly phase: 'queued' } & Starting)
  | ({ readonly phase: 'starting' } & Starting)
  | {
      readonly phase: 'running';
      readonly since: number;
      readonly instance: InstanceId;
      readonly successor: Successor | undefined;
    }
  /** The instance ended by itself or does not respond; the runner removes it. */
  | {
      readonly phase: 'reaping';
      readonly since: number;
      readonly successor: Successor | undefined;
    }
  /** The instance is gone, and its successor is still starting. */
  | {
      readonly phase: 'awaiting_successor';
      readonly since: number;
      readonly progress: string;
      readonly successor: Successor;
      readonly failure: Failure;
    }
  | { readonly phase: 'retrying'; readonly status: Retrying }
  | { readonly phase: 'stopping'; readonly since: number; readonly hasEnded: boolean }
  | { readonly phase: 'failed'; readonly since: number; readonly why: string };

type Retrying = Extract<ServerStatus, { state: 'backing_off' | 'unreachable' }>;

export type State = Common & Phase;

export type Event =
  | { readonly type: 'start' }
  /** Without `byHand`, whether calls start the server stays as it was. */
  | { readonly type: 'stop'; readonly byHand?: boolean }
  | { readonly type: 'close' }
  /** The running instance had no work for `idle_stop`. */
  | { readonly type: 'idle' }
  | {
      readonly type: 'reconfigure';
      readonly config: ServerConfig;
      /** The launch differs, so a running instance must be replaced. */
      readonly isReplaced: boolean;
      /** The old and the new instance must not run at the same time. */
      readonly isExclusive: boolean;
    }
  | { readonly type: 'progress'; readonly text: string }
  | {
      readonly type: 'started';
      readonly instance: InstanceId;
      readonly variant: string | undefined;
    }
  | { readonly type: 'start_failed'; readonly failure: Failure }
  /** The instance exited, closed its channel or stopped responding. */
  | { readonly type: 'ended'; readonly instance: InstanceId }
  | {
      readonly type: 'reaped';
      readonly failure: Failure;
      readonly ranMs: number;
      /** Only the connection is lost: the instance may still run and can be adopted. */
      readonly isLost: boolean;
    }
  | { readonly type: 'delay_over' }
  /** No launch, stop or cleanup is under way. */
  | { readonly type: 'settled' }
  /** The runner failed because of a bug. */
  | { readonly type: 'broken'; readonly failure: Failure };

export type Effect =
  | { readonly type: 'publish'; readonly status: ServerStatus }
  /** Launches the server, or adopts the instance of an earlier run. Answers `started` or `start_failed`. */
  | { readonly type: 'launch'; readonly variant: string | undefined }
  /** Launches a successor. Answers `started` or `start_failed`. */
  | {
      readonly type: 'launch_beside';
      readonly config: ServerConfig;
      readonly variant: string | undefined;
    }
  /** Cancels launches and the delay. A launch that completes regardless answers `started`. */
  | { readonly type: 'cancel' }
  /** Hands calls to the instance from now on, and watches it. */
  | { readonly type: 'attach'; readonly instance: InstanceId }
  /** Hands no more calls to the running instance, and watches it no more. */
  | { readonly type: 'detach' }
  /** Stops an instance and fails its calls. */
  | { readonly type: 'stop_instance'; readonly instance: InstanceId }
  /** Stops an instance once its calls are answered, but no later than the drain timeout. */
  | {
      readonly type: 'drain_instance';
      readonly instance: InstanceId;
      /** A successor has its place already; otherwise the next start waits for the end. */
      readonly isReplaced: boolean;
    }
  /** Ends all draining instances now; the next `settled` waits for them. */
  | { readonly type: 'hurry_draining' }
  /** Removes what is left of an instance that ended. Answers `reaped`. */
  | { readonly type: 'reap'; readonly instance: InstanceId }
  /** Drops the saved handle: no later start adopts the instance. `afterEnd`: once all has ended. */
  | { readonly type: 'forget_handle'; readonly afterEnd: boolean }
  /** Answers `delay_over`. */
  | { readonly type: 'delay'; readonly delayMs: number }
  /** Answers `settled`, now or later. */
  | { readonly type: 'await_settled' }
  | { readonly type: 'record_failure'; readonly error: unknown }
  | { readonly type: 'use_config'; readonly config: ServerConfig }
  /** Closes the breaker: failures of the old config do not count against the new one. */
  | { readonly type: 'reset_admission' }
  /** Settles the promise of `reconfigure`, with an error if the new config was refused. */
  | { readonly type: 'finish_change'; readonly error?: unknown; readonly afterEnd?: boolean };

export type Transition = { readonly state: State; readonly effects: readonly Effect[] };

/** What a transition depends on besides state and event. */
export type Facts = Moment & {
  /** The config in use. */
  readonly config: ServerConfig;
  /** Who uses the server: all clients, the clients of one era, or one session. */
  readonly audience: 'all' | 'era' | 'session';
};

export const initialState: State = {
  phase: 'stopped',
  byHand: false,
  isClosed: false,
  restarts: 0,
  history: noRestarts,
  variant: undefined,
};

/** The public status of a state. Pure. */
export function statusOf(state: State): ServerStatus {
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
      return { state: 'stopping', since: state.since, hasEnded: state.hasEnded };
    case 'failed':
      return { state: 'failed', since: state.since, why: state.why };
  }
}
