import type { Event, Service } from '#core';
import type { Principal } from '#policy';
import type { TaskContract } from './contract.ts';
import type { TaskPhase, TaskState } from './task-state.ts';

/** What begins by a command. `run` goes on from phase to phase until a person is needed. */
export type TaskRunKind = TaskPhase | 'run';

/** A task as people see it. `contract` is the contract as its file has it now. */
export type TaskView = Omit<TaskState, 'contract' | 'step' | 'isUnattended' | 'phaseTokens'> & {
  readonly id: string;
  readonly contract: TaskContract;
  /** The step under way, such as `asking`, or `idle`. */
  readonly doing: TaskState['step']['kind'];
  /** Commands of `agenthub task` that fit the state. */
  readonly commands: readonly string[];
};

/** Files of `_handoff/` that the hub writes or reads. */
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
  /** What happened, for people. Redacted. */
  readonly text: string;
};

/**
 * The task pipeline: a local model implements a contract on a branch, checks and a second model review it, a judge decides.
 * All methods that name a task reject with HUB_TASK_UNKNOWN, and those that change it with HUB_TASK_STATE, which names
 * the state and the commands that fit, and HUB_TASK_BUSY while a step of it is under way.
 */
export interface TaskPipeline {
  readonly service: Service;
  /** Newest first. */
  list(): readonly TaskView[];
  get(id: string): TaskView;
  /** Lists the tasks whose repository a principal may name. */
  visibleTo(principal: Principal): Promise<readonly TaskView[]>;
  /** A task whose repository a principal may name. To others it is unknown, as one that does not exist. */
  requireVisible(id: string, principal: Principal): Promise<TaskView>;
  /** The newest task of a repository, by its top folder or a path in it. */
  findByRepository(path: string): TaskView | undefined;
  /** Writes a contract into a repository, and its exclusion from git. Rejects with HUB_CONTRACT_INVALID and HUB_TASK_EXISTS. */
  create(repository: string, contract: unknown, principal: Principal): Promise<TaskView>;
  /**
   * Reads the contract of a repository and makes branch and worktree. A task in human_consultation begins anew with the
   * contract as it is now.
   */
  setup(repository: string, principal: Principal): Promise<TaskView>;
  /** Begins a phase, or `run`, as a job, and returns the id of the job at once. */
  begin(id: string, kind: TaskRunKind, principal: Principal): Promise<{ readonly job: string }>;
  /** Resolves when no step of the task is under way. Rejects with the fault that ended the last one. */
  settled(id: string): Promise<void>;
  /** Without a judgement it is read from JUDGE_REPORT.md. */
  reportJudge(
    id: string,
    judgement: TaskJudgement | undefined,
    principal: Principal,
  ): Promise<TaskView>;
  /** Merges after a verdict of pass. Needs the administer grant. */
  finalize(id: string, principal: Principal): Promise<TaskView>;
  /** Ends the task and a phase under way, removes the worktree, keeps the branch. */
  cancel(id: string, principal: Principal): Promise<TaskView>;
  /** Moves the branch back to a checkpoint, or to the base, and removes what came after. Needs the administer grant. */
  rollback(id: string, checkpoint: string | undefined, principal: Principal): Promise<TaskView>;
  /** Changes of the branch since its base. */
  diff(
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isTruncated: boolean }>;
  /** Text of a report. Undefined if there is none. */
  report(id: string, name: TaskReportName, signal: AbortSignal): Promise<string | undefined>;
  readonly events: Event<TaskEvent>;
}
