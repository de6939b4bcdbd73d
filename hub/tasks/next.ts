import { afterCommand } from './after-command.ts';
import { afterResult } from './after-result.ts';
import { describeEvent } from './describe-event.ts';
import { phaseOf } from './phases.ts';
import type { TaskCommand, TaskEffect, TaskTransition } from './task-events.ts';
import type { TaskState } from './task-state.ts';

type NextTask = { readonly task: TaskState; readonly effects: readonly TaskEffect[] };

const maxHistory = 50;

/**
 * Returns the state after a command or the result of a step, and the effects that the runner performs. Pure. Throws
 * HUB_TASK_STATE or HUB_TASK_BUSY if the state does not allow a command. Ignores a result that the current step cannot
 * have: it comes from a cancelled step.
 */
export function next(task: TaskState, event: TaskTransition): NextTask {
  const changed = isCommand(event) ? afterCommand(task, event) : afterResult(task, event);
  if (!changed) return { task, effects: [] };
  const entry = { at: event.at, status: changed.status, text: describeEvent(event) };
  const history = [...task.history, entry].slice(-maxHistory);
  const after: TaskState = { ...changed, updatedAt: event.at, history };
  return { task: after, effects: effectsOf(after) };
}

/** Returns what the runner has to do in a state, after a transition or after a crash of the hub. */
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
