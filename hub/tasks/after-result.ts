import { nameOfPhase } from './describe-event.ts';
import { attemptOf, modelOf, phaseIn } from './phases.ts';
import { askPerson, ended, ending, newRound, resting } from './task-changes.ts';
import type { CallUse, TaskResult } from './task-events.ts';
import type {
  FailedAttempt,
  StallCause,
  TaskCheckpoint,
  TaskState,
  TaskStep,
} from './task-state.ts';

/** Maximum number of attempts in a phase. After the last failed attempt, a person is asked. */
const maxAttempts = 2;
/** Maximum length of the stored end of a failed answer, in characters. */
const maxOutput = 4_000;

/** Returns the end of an answer, starting at a new line if possible: redaction would not recognize half a secret. */
export function endOf(answer: string): string {
  if (answer.length <= maxOutput) return answer;
  const end = answer.slice(-maxOutput);
  return end.slice(end.indexOf('\n') + 1);
}

/** Returns the state after the result of a step; undefined if the current step cannot have this result. */
export function afterResult(
  task: TaskState,
  event: TaskResult & { at: number },
): TaskState | undefined {
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
      // A merge that has begun to update files cannot be cancelled.
      if (step.kind !== 'merging' && task.status !== 'cancelled') return undefined;
      return ending({ ...task, merged: event.commit }, 'done');
    case 'not_merged':
      return step.kind === 'merging' ? askPerson(task, event.why) : undefined;
    case 'rolled_back':
      return step.kind === 'rolling_back' ? afterRollback(task, event) : undefined;
    case 'cleaned':
      return step.kind === 'cleaning' ? ended(task) : undefined;
    case 'halted': {
      // Another hub has the lease of the repository. It works in the worktree and removes it.
      if (step.kind === 'cleaning' && event.code === 'task_leased') return ended(task);
      // The steps of `cleaning` are repeated at the next start of the hub.
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
      // Rounds off the excess digits of a floating-point sum.
      cost: Number((totals.cost + (use.cost ?? 0)).toFixed(6)),
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

/** Records a failed attempt: the first one asks the model again and tells it the problem, the second asks a person. */
function strike(
  task: TaskState,
  failed: Pick<FailedAttempt, 'phase' | 'detail' | 'output' | 'gate' | 'at'> & {
    readonly cause: StallCause;
  },
): TaskState {
  const { phase, cause, detail, output, gate, at } = failed;
  const attempt = attemptOf(task, phase);
  const failure: FailedAttempt = {
    phase,
    attempt,
    cause,
    detail,
    output: endOf(output),
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
  const { step } = task;
  if (step.kind !== 'committing' && step.kind !== 'recording') return undefined;
  const phase = step.kind === 'committing' ? 'implementer' : 'local_review';
  const checkpoint: TaskCheckpoint = {
    phase,
    attempt: attemptOf(task, phase),
    commit,
    model: modelOf(task, phase),
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

function afterRollback(
  task: TaskState,
  { commit, files }: Extract<TaskResult, { type: 'rolled_back' }>,
): TaskState {
  const at = task.checkpoints.findIndex(checkpoint => checkpoint.commit === commit);
  const checkpoints = task.checkpoints.slice(0, at + 1);
  return {
    ...newRound(resting(task)),
    checkpoints,
    changedFiles: [...files],
    judgeFails: 0,
    status: checkpoints.length > 0 ? 'pending_local_review' : 'pending_implementer',
  };
}

const answerIn = (step: TaskStep): string =>
  'answer' in step ? step.answer : step.kind === 'asking' ? (step.repair?.answer ?? '') : '';
