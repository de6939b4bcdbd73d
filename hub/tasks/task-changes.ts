import type { TaskState } from './task-state.ts';

/** Starts a new round: attempts count from 1 again, and results of earlier attempts are dropped. */
export function newRound(task: TaskState): TaskState {
  const { gate: _g, review: _r, why: _w, verdict: _v, judgeNotes: _n, ...rest } = task;
  return { ...rest, attempt: 1, reviewAttempt: 1, phaseTokens: 0, failures: [] };
}

/** Returns a state without a step. An unattended task keeps its job for the next phase. */
export function resting(task: TaskState): TaskState {
  if (task.isUnattended) return { ...task, step: { kind: 'idle' } };
  const { job: _, ...rest } = task;
  return { ...rest, step: { kind: 'idle' } };
}

export const ended = (task: TaskState): TaskState => resting({ ...task, isUnattended: false });

/** Starts the last step of a task, which removes its worktree. Drops the question to a person. */
export function ending(task: TaskState, status: 'done' | 'cancelled'): TaskState {
  const { why: _, ...rest } = task;
  return { ...rest, status, step: { kind: 'cleaning' } };
}

export const askPerson = (task: TaskState, why: string): TaskState => ({
  ...ended(task),
  status: 'human_consultation',
  why,
});
