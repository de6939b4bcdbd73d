import { afterCommand } from './after-command.ts';
import { afterResult } from './after-result.ts';
import { describeEvent } from './describe-event.ts';
import { phaseOf } from './phases.ts';
import type { TaskCommand, TaskEffect, TaskTransition } from './task-events.ts';
import type { TaskState } from './task-state.ts';

type NextTask = { readonly task: TaskState; readonly effects: readonly TaskEffect[] };

const maxHistory = 50;

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

const commands: ReadonlySet<string> = new Set<TaskCommand['type']>([
  'setup',
  'begin',
  'judge',
  'finalize',
  'cancel',
  'rollback',
]);
export const isCommand = (event: TaskTransition): event is TaskCommand & { readonly at: number } =>
  commands.has(event.type);
