import type { TaskContract } from './contract.ts';
import type { GateResult, LocalReview, StallCause, TaskStep } from './task-state.ts';
import type { TaskRunKind } from './task-types.ts';

/** What a call of a model, or a gate, has used. */
export type CallUse = {
  readonly calls: 0 | 1;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly workMs: number;
  /** Cost by the prices of the model. Default: 0. */
  readonly cost?: number;
};

/** Commands of people and programs. A command that does not fit the state is an error. */
export type TaskCommand =
  | { readonly type: 'setup'; readonly contract: TaskContract }
  | { readonly type: 'begin'; readonly kind: TaskRunKind; readonly job: string }
  | { readonly type: 'judge'; readonly verdict: 'pass' | 'fail'; readonly notes?: string }
  | { readonly type: 'finalize' }
  | { readonly type: 'cancel' }
  | { readonly type: 'rollback'; readonly commit: string };

/** Results of the step that is under way. */
export type TaskResult =
  | {
      readonly type: 'prepared';
      readonly branch: string;
      readonly baseBranch: string;
      readonly base: string;
    }
  /** A model has answered. */
  | { readonly type: 'answered'; readonly answer: string; readonly use: CallUse }
  /** The answer cannot be read. The first time in an attempt, it is asked for once more. */
  | { readonly type: 'malformed'; readonly problem: string }
  /** The attempt has failed: a strike. */
  | {
      readonly type: 'stalled';
      readonly cause: StallCause;
      readonly detail: string;
      /** What the model has said, if it was not recorded as an answer. */
      readonly output?: string;
      readonly use?: CallUse;
      readonly gate?: GateResult;
    }
  /** The change of the implementer has passed the gate. */
  | { readonly type: 'checked'; readonly gate: GateResult; readonly use: CallUse }
  /** The change, or the review, has its checkpoint. `files`: all changed files of the task. */
  | { readonly type: 'committed'; readonly commit: string; readonly files: readonly string[] }
  | { readonly type: 'reviewed'; readonly review: LocalReview }
  | { readonly type: 'merged'; readonly commit: string }
  | { readonly type: 'not_merged'; readonly why: string }
  | { readonly type: 'rolled_back'; readonly commit: string; readonly files: readonly string[] }
  | { readonly type: 'cleaned' }
  /** A fault of the infrastructure, or the end of the job: nothing counts, and the phase can begin again. */
  | { readonly type: 'halted'; readonly code: string; readonly message: string }
  | { readonly type: 'budget_spent'; readonly what: string };

export type TaskTransition = (TaskCommand | TaskResult) & {
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** What the runner does after a transition, in this order. Each may be repeated. */
export type TaskEffect =
  /** Writes the contract, and the reports that the state has; removes those that it has not. */
  | { readonly type: 'write_handoff' }
  | { readonly type: 'perform'; readonly step: TaskStep }
  /** Begins the next phase of an unattended task, in the same job. */
  | { readonly type: 'begin_next' };
