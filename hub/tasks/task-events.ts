import type { TaskContract } from './contract.ts';
import type { GateResult, LocalReview, StallCause, TaskStep } from './task-state.ts';
import type { TaskRunKind } from './task-types.ts';

/** Tokens and time that a model call, or the checks, used. */
export type CallUse = {
  readonly calls: 0 | 1;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly workMs: number;
  /** Cost at the price of the model. Default: 0. */
  readonly cost?: number;
};

/** Commands of people and programs. `next` throws if the state does not allow them. */
export type TaskCommand =
  | { readonly type: 'setup'; readonly contract: TaskContract }
  | {
      readonly type: 'begin';
      readonly kind: TaskRunKind;
      readonly job: string;
      /** Contract of a task that was not set up, as its file has it now. */
      readonly contract?: TaskContract;
    }
  | { readonly type: 'judge'; readonly verdict: 'pass' | 'fail'; readonly notes?: string }
  | { readonly type: 'finalize' }
  | { readonly type: 'cancel' }
  | { readonly type: 'rollback'; readonly commit: string };

/** Results of the current step. */
export type TaskResult =
  | {
      readonly type: 'prepared';
      readonly branch: string;
      readonly baseBranch: string;
      readonly base: string;
    }
  /** A model has answered. */
  | { readonly type: 'answered'; readonly answer: string; readonly use: CallUse }
  /** The answer could not be parsed. The first time in an attempt, the model is asked once more. */
  | { readonly type: 'malformed'; readonly problem: string }
  /** The attempt has failed, and counts towards the maximum number of attempts. */
  | {
      readonly type: 'stalled';
      readonly cause: StallCause;
      readonly detail: string;
      /** Output of the model that was not recorded as an answer. */
      readonly output?: string;
      readonly use?: CallUse;
      readonly gate?: GateResult;
    }
  /** The implementer's change has passed the checks. */
  | { readonly type: 'checked'; readonly gate: GateResult; readonly use: CallUse }
  /** The change or the review was committed as a checkpoint. `files`: all changed files of the task. */
  | { readonly type: 'committed'; readonly commit: string; readonly files: readonly string[] }
  | { readonly type: 'reviewed'; readonly review: LocalReview }
  | { readonly type: 'merged'; readonly commit: string }
  | { readonly type: 'not_merged'; readonly why: string }
  | { readonly type: 'rolled_back'; readonly commit: string; readonly files: readonly string[] }
  | { readonly type: 'cleaned' }
  /** A fault of the infrastructure or the end of the job. No attempt is counted, and the phase can be started again. */
  | { readonly type: 'halted'; readonly code: string; readonly message: string }
  | { readonly type: 'budget_spent'; readonly what: string };

export type TaskTransition = (TaskCommand | TaskResult) & {
  /** Time of the event, in milliseconds since the epoch. */
  readonly at: number;
};

/** Actions of the runner after a transition, in this order. Each can be repeated. */
export type TaskEffect =
  /** Writes the contract and the reports of the state, and removes its outdated reports. */
  | { readonly type: 'write_handoff' }
  | { readonly type: 'perform'; readonly step: TaskStep }
  /** Starts the next phase of an unattended task, in the same job. */
  | { readonly type: 'begin_next' };
