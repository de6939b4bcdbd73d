import { describeEvent, nameOfPhase } from './describe-event.ts';
import { requireFitting } from './fitting.ts';
import type {
  CallUse,
  TaskCommand,
  TaskEffect,
  TaskResult,
  TaskTransition,
} from './task-events.ts';
import type {
  FailedAttempt,
  StallCause,
  TaskCheckpoint,
  TaskPhase,
  TaskState,
  TaskStep,
} from './task-state.ts';

export type NextTask = { readonly task: TaskState; readonly effects: readonly TaskEffect[] };

/** Attempts of a phase. The last strike hands over to a person. */
const maxAttempts = 2;
/** The judge may send a task back this many times. */
const maxJudgeFails = 1;
const maxHistory = 50;
/** Characters that are kept of the end of an answer that failed. */
export const maxOutput = 4_000;
const idle: TaskStep = { kind: 'idle' };

/**
 * The state after a command or after the result of a step, and what the runner does then. Pure. Throws HUB_TASK_STATE or
 * HUB_TASK_BUSY for a command that does not fit. A result that does not belong to the step under way changes nothing: it
 * is that of a step that was cancelled.
 */
export function next(task: TaskState, event: TaskTransition): NextTask {
  const changed = isCommand(event) ? afterCommand(task, event) : afterResult(task, event);
  if (!changed) return { task, effects: [] };
  const entry = { at: event.at, status: changed.status, text: describeEvent(event) };
  const history = [...task.history, entry].slice(-maxHistory);
  const after: TaskState = { ...changed, updatedAt: event.at, history };
  return { task: after, effects: effectsOf(after) };
}

/** What remains to be done in a state: after a transition, or when the hub was killed in it. */
export function effectsOf(task: TaskState): readonly TaskEffect[] {
  const { step, status, isUnattended, halted } = task;
  if (step.kind !== 'idle') return [{ type: 'write_handoff' }, { type: 'perform', step }];
  const phase = phaseOf(status);
  return [
    { type: 'write_handoff' },
    ...(isUnattended && phase && !halted ? [{ type: 'begin_next' } as const] : []),
  ];
}

/** The phase that a status waits for. */
export function phaseOf(status: TaskState['status']): TaskPhase | undefined {
  if (status === 'pending_implementer') return 'implementer';
  return status === 'pending_local_review' ? 'local_review' : undefined;
}

const commands: ReadonlySet<string> = new Set<TaskCommand['type']>([
  'setup',
  'begin',
  'judge',
  'finalize',
  'cancel',
  'rollback',
]);
const isCommand = (event: TaskTransition): event is TaskCommand & { readonly at: number } =>
  commands.has(event.type);

function afterCommand(task: TaskState, command: TaskCommand): TaskState {
  requireFitting(task, command);
  const { halted: _, ...rest } = task;
  switch (command.type) {
    case 'setup':
      return {
        ...newRound(rest),
        contract: command.contract,
        status: 'proposal',
        judgeFails: 0,
        step: { kind: 'preparing' },
      };
    case 'begin': {
      const isUnattended = command.kind === 'run';
      const phase = phaseOf(task.status);
      const step: TaskStep = phase ? { kind: 'asking', phase } : { kind: 'preparing' };
      return { ...rest, isUnattended, job: command.job, phaseTokens: 0, step };
    }
    case 'judge':
      return afterJudgement(rest, command);
    case 'finalize':
      return { ...rest, step: { kind: 'merging' } };
    case 'cancel':
      return ending({ ...rest, isUnattended: false }, 'cancelled');
    case 'rollback':
      return {
        ...rest,
        isUnattended: false,
        step: { kind: 'rolling_back', commit: command.commit },
      };
  }
}

function afterJudgement(
  task: TaskState,
  { verdict, notes }: Extract<TaskCommand, { type: 'judge' }>,
): TaskState {
  const { judgeNotes: _, ...rest } = task;
  const judged: TaskState = {
    ...rest,
    verdict,
    ...(notes !== undefined && notes !== '' && { judgeNotes: notes }),
  };
  if (verdict === 'pass') return judged;
  const judgeFails = task.judgeFails + 1;
  if (judgeFails > maxJudgeFails)
    return askPerson({ ...judged, judgeFails }, `the judge said fail ${judgeFails} times`);
  const { judgeNotes } = judged;
  return {
    ...newRound(judged),
    verdict,
    ...(judgeNotes !== undefined && { judgeNotes }),
    judgeFails,
    status: 'pending_implementer',
  };
}

/** Attempts count from 1 again, and what belongs to the attempts before is dropped. */
function newRound(task: TaskState): TaskState {
  const { gate: _g, review: _r, why: _w, verdict: _v, judgeNotes: _n, ...rest } = task;
  return { ...rest, attempt: 1, reviewAttempt: 1, phaseTokens: 0, failures: [] };
}

/** Without a step. An unattended task keeps its job for the next phase. */
function resting(task: TaskState): TaskState {
  if (task.isUnattended) return { ...task, step: idle };
  const { job: _, ...rest } = task;
  return { ...rest, step: idle };
}

const ended = (task: TaskState): TaskState => resting({ ...task, isUnattended: false });

/** Nobody is asked any more. */
function ending(task: TaskState, status: 'done' | 'cancelled'): TaskState {
  const { why: _, ...rest } = task;
  return { ...rest, status, step: { kind: 'cleaning' } };
}

const askPerson = (task: TaskState, why: string): TaskState => ({
  ...ended(task),
  status: 'human_consultation',
  why,
});

/** Undefined: the result does not belong to the step under way. */
function afterResult(task: TaskState, event: TaskResult & { at: number }): TaskState | undefined {
  const { step } = task;
  switch (event.type) {
    case 'prepared':
      if (step.kind !== 'preparing') return undefined;
      return {
        ...resting(task),
        status: 'pending_implementer',
        branch: event.branch,
        baseBranch: event.baseBranch,
        base: event.base,
      };
    case 'answered': {
      if (step.kind !== 'asking') return undefined;
      const kind = step.phase === 'implementer' ? 'applying' : 'reading';
      const repaired = step.repair !== undefined;
      return { ...counted(task, event.use), step: { kind, answer: event.answer, repaired } };
    }
    case 'malformed':
      return afterMalformed(task, event);
    case 'stalled': {
      const phase = phaseIn(step);
      if (!phase) return undefined;
      const used = event.use ? counted(task, event.use) : task;
      return strike(used, { output: answerIn(step), ...event, phase });
    }
    case 'checked':
      if (step.kind !== 'applying') return undefined;
      return {
        ...counted(task, event.use),
        step: { kind: 'committing', answer: step.answer, gate: event.gate },
      };
    case 'committed':
      return afterCommit(task, event);
    case 'reviewed':
      if (step.kind !== 'reading') return undefined;
      return { ...task, step: { kind: 'recording', review: event.review } };
    case 'merged':
      if (step.kind !== 'merging') return undefined;
      return ending({ ...task, merged: event.commit }, 'done');
    case 'not_merged':
      return step.kind === 'merging' ? askPerson(task, event.why) : undefined;
    case 'rolled_back':
      return step.kind === 'rolling_back' ? afterRollback(task, event.commit) : undefined;
    case 'cleaned':
      return step.kind === 'cleaning' ? ended(task) : undefined;
    case 'halted': {
      // What ends a task is tried again at the next start.
      if (step.kind === 'cleaning' || (step.kind === 'idle' && !task.isUnattended))
        return undefined;
      const { code, message } = event;
      return { ...ended(task), halted: { code, message } };
    }
    case 'budget_spent':
      return phaseIn(step) ? askPerson(task, `the budget is spent: ${event.what}`) : undefined;
  }
}

function counted(task: TaskState, use: CallUse): TaskState {
  const { totals } = task;
  return {
    ...task,
    phaseTokens: task.phaseTokens + use.promptTokens + use.completionTokens,
    totals: {
      ...totals,
      calls: totals.calls + use.calls,
      promptTokens: totals.promptTokens + use.promptTokens,
      completionTokens: totals.completionTokens + use.completionTokens,
      workMs: totals.workMs + use.workMs,
    },
  };
}

function afterMalformed(
  task: TaskState,
  { problem, at }: { readonly problem: string; readonly at: number },
): TaskState | undefined {
  const { step } = task;
  if (step.kind !== 'applying' && step.kind !== 'reading') return undefined;
  const phase = step.kind === 'applying' ? 'implementer' : 'local_review';
  const { answer } = step;
  if (!step.repaired)
    return { ...task, step: { kind: 'asking', phase, repair: { answer, problem } } };
  return strike(task, { phase, cause: 'malformed_output', detail: problem, output: answer, at });
}

/** The first strike asks again, with what went wrong; the second hands over to a person. */
function strike(
  task: TaskState,
  failed: Pick<FailedAttempt, 'phase' | 'detail' | 'output' | 'gate' | 'at'> & {
    readonly cause: StallCause;
  },
): TaskState {
  const { phase, cause, detail, output, gate, at } = failed;
  const attempt = phase === 'implementer' ? task.attempt : task.reviewAttempt;
  const failure: FailedAttempt = {
    phase,
    attempt,
    cause,
    detail,
    output: output.slice(-maxOutput),
    at,
    ...(gate && { gate }),
  };
  const struck: TaskState = {
    ...task,
    failures: [...task.failures, failure],
    ...(gate && { gate }),
  };
  if (attempt >= maxAttempts)
    return askPerson(
      struck,
      `the ${nameOfPhase(phase)} stalled ${maxAttempts} times, last by ${cause}`,
    );
  const counts =
    phase === 'implementer' ? { attempt: attempt + 1 } : { reviewAttempt: attempt + 1 };
  return { ...struck, ...counts, step: { kind: 'asking', phase } };
}

function afterCommit(
  task: TaskState,
  { commit, files, at }: Extract<TaskResult, { type: 'committed' }> & { readonly at: number },
): TaskState | undefined {
  const { step, contract } = task;
  const phase = phaseIn(step);
  if (step.kind !== 'committing' && step.kind !== 'recording') return undefined;
  if (!phase) return undefined;
  const isImplementer = step.kind === 'committing';
  const checkpoint: TaskCheckpoint = {
    phase,
    attempt: isImplementer ? task.attempt : task.reviewAttempt,
    commit,
    model: isImplementer ? contract.roles.implementer : contract.roles.local_reviewer,
    tokens: task.phaseTokens,
    at,
  };
  const done: TaskState = {
    ...task,
    checkpoints: [...task.checkpoints, checkpoint],
    changedFiles: [...files],
  };
  if (step.kind === 'committing')
    return {
      ...resting(done),
      status: 'pending_local_review',
      gate: step.gate,
      reviewAttempt: 1,
    };
  const { review } = step;
  if (review.critical)
    return askPerson({ ...done, review }, 'the local review has a critical finding');
  return { ...ended(done), review, status: 'pending_judge_review' };
}

function afterRollback(task: TaskState, commit: string): TaskState {
  const at = task.checkpoints.findIndex(checkpoint => checkpoint.commit === commit);
  const checkpoints = task.checkpoints.slice(0, at + 1);
  return {
    ...newRound(resting(task)),
    checkpoints,
    judgeFails: 0,
    status: checkpoints.length > 0 ? 'pending_local_review' : 'pending_implementer',
  };
}

/** The phase of a step that a model is asked in. */
export function phaseIn(step: TaskStep): TaskPhase | undefined {
  switch (step.kind) {
    case 'asking':
      return step.phase;
    case 'applying':
    case 'committing':
      return 'implementer';
    case 'reading':
    case 'recording':
      return 'local_review';
    default:
      return undefined;
  }
}

const answerIn = (step: TaskStep): string =>
  'answer' in step ? step.answer : step.kind === 'asking' ? (step.repair?.answer ?? '') : '';
