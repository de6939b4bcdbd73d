import type { Event, Service } from '#core';
import type { Principal } from '#policy';
import type { TaskContract } from './contract.ts';
import type { TaskPhase, TaskState } from './task-state.ts';

/** What a job of a task runs: one phase, or with `run` all phases until a person is needed. */
export type TaskRunKind = TaskPhase | 'run';

/** A task as shown to people and programs. `contract` is the contract as its file has it now. */
export type TaskView = Omit<TaskState, 'contract' | 'step' | 'isUnattended' | 'phaseTokens'> & {
  readonly id: string;
  readonly contract: TaskContract;
  /** Kind of the current step, such as `asking`; `idle` without one. */
  readonly doing: TaskState['step']['kind'];
  /** Commands of `agenthub task` that the state allows. */
  readonly commands: readonly string[];
};

/** Files in `_handoff/` that the hub writes or reads. */
export const taskReports = [
  'REVIEW_REQUEST.md',
  'STALL_REPORT.md',
  'HALT.md',
  'JUDGE_REPORT.md',
] as const;
export type TaskReportName = (typeof taskReports)[number];

export type TaskJudgement = {
  readonly verdict: 'pass' | 'fail';
  readonly notes?: string | undefined;
};

export type TaskEvent = {
  readonly task: TaskView;
  /** Description of the event for people. Redacted. */
  readonly text: string;
};

/**
 * The task pipeline: a local model implements a contract on a branch, checks and a second model review the change, and
 * a judge decides. Methods with a task id reject with HUB_TASK_UNKNOWN. Those that change a task reject with
 * HUB_TASK_BUSY during a step, and with HUB_TASK_STATE, which names the state and the allowed commands.
 */
export interface TaskPipeline {
  readonly service: Service;
  /** Returns all tasks, the newest first. */
  list(): readonly TaskView[];
  get(id: string): TaskView;
  /** Returns the tasks whose repository a principal may use. */
  visibleTo(principal: Principal): Promise<readonly TaskView[]>;
  /** Returns a task. For a principal that may not use its repository, the task is unknown. */
  requireVisible(id: string, principal: Principal): Promise<TaskView>;
  /** Finds the newest task of a repository, by its top folder or a path in it. */
  findByRepository(path: string): TaskView | undefined;
  /** Writes a contract, which git ignores, into a repository. Rejects with HUB_CONTRACT_INVALID or HUB_TASK_EXISTS. */
  create(repository: string, contract: unknown, principal: Principal): Promise<TaskView>;
  /**
   * Reads the contract of a repository, and creates the branch and the worktree. A task in human_consultation starts
   * again with the current contract.
   */
  setup(repository: string, principal: Principal): Promise<TaskView>;
  /** Starts a phase, or `run`, as a job. Resolves with the id of the job without waiting for its end. */
  begin(id: string, kind: TaskRunKind, principal: Principal): Promise<{ readonly job: string }>;
  /** Resolves when no step of the task is running. Rejects with the fault that ended the last one. */
  settled(id: string): Promise<void>;
  /** Records the judge's verdict. Without `judgement`, it is read from JUDGE_REPORT.md. */
  reportJudge(
    id: string,
    judgement: TaskJudgement | undefined,
    principal: Principal,
  ): Promise<TaskView>;
  /** Merges the branch after a `pass` verdict. Needs the administer grant. */
  finalize(id: string, principal: Principal): Promise<TaskView>;
  /** Cancels the task and its current step, and removes the worktree. The branch is kept. */
  cancel(id: string, principal: Principal): Promise<TaskView>;
  /** Resets the branch to a checkpoint or to the base, which drops later commits. Needs the administer grant. */
  rollback(id: string, checkpoint: string | undefined, principal: Principal): Promise<TaskView>;
  /** Returns the diff of the branch against its base. */
  diff(
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isTruncated: boolean }>;
  /** Returns the text of a report; undefined if it does not exist. */
  report(id: string, name: TaskReportName, signal: AbortSignal): Promise<string | undefined>;
  readonly events: Event<TaskEvent>;
}
