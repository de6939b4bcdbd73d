import { HubError } from '#core';
import { type TaskContract, isSameContract } from './contract.ts';
import type { TaskCommand } from './task-events.ts';
import type { TaskState } from './task-state.ts';

/** Members of a state that decide which commands are allowed, except the step. */
type Fitting = Pick<TaskState, 'status' | 'verdict' | 'checkpoints' | 'base'>;

/** Commands of `agenthub task` in the order of the pipeline, with the states that allow them. */
const fits = {
  setup: ({ status }) => status === 'proposal' || status === 'human_consultation',
  run: ({ status }) =>
    status === 'proposal' || status === 'pending_implementer' || status === 'pending_local_review',
  'run-implementer': ({ status }) => status === 'pending_implementer',
  'run-local-review': ({ status }) => status === 'pending_local_review',
  // After a `pass` verdict, `finalize` is offered before another verdict.
  finalize: ({ status, verdict }) =>
    verdict === 'pass' && (status === 'pending_judge_review' || status === 'human_consultation'),
  'report-judge': ({ status }) => status === 'pending_judge_review',
  rollback: ({ status, base }) =>
    base !== undefined && !['proposal', 'done', 'cancelled'].includes(status),
  cancel: ({ status }) => status !== 'done' && status !== 'cancelled',
} satisfies Readonly<Record<string, (task: Fitting) => boolean>>;

type CommandName = keyof typeof fits;

/** Returns the commands of `agenthub task` that a state allows, in the order of the pipeline. */
export const fittingCommands = (task: Fitting): readonly string[] =>
  Object.entries(fits).flatMap(([name, isFitting]) => (isFitting(task) ? [name] : []));

const kinds = {
  run: 'run',
  implementer: 'run-implementer',
  local_review: 'run-local-review',
} as const;

function nameOf(command: TaskCommand): CommandName {
  if (command.type === 'begin') return kinds[command.kind];
  return command.type === 'judge' ? 'report-judge' : command.type;
}

/** Throws HUB_TASK_BUSY during a step, except for `cancel`, and HUB_TASK_STATE for a command that does not fit. */
export function requireFitting(task: TaskState, command: TaskCommand): void {
  const name = nameOf(command);
  const { status, step, contract } = task;
  const id = contract.task_id;
  if (step.kind !== 'idle' && (name !== 'cancel' || step.kind === 'cleaning'))
    throw new HubError(
      'HUB_TASK_BUSY',
      `task ${id} is ${status} and busy (${step.kind}): wait for it, or run "agenthub task cancel ${id}"`,
    );
  if (fits[name](task)) return;
  const others = fittingCommands(task).map(fitting => `"agenthub task ${fitting}"`);
  throw new HubError(
    'HUB_TASK_STATE',
    `task ${id} is ${status}, which "${name}" does not fit${whyNot(name, task)}. ${
      others.length > 0 ? `These do: ${others.join(', ')}` : 'It has ended: make a new task'
    }`,
  );
}

const whyNot = (name: CommandName, { status, verdict }: Fitting) =>
  name === 'finalize' && status === 'pending_judge_review' && verdict !== 'pass'
    ? ' before the judge says pass'
    : '';

/** Throws HUB_TASK_EXISTS if a task has another contract than the one that is to be written. */
export function requireSameContract(
  { contract, repository, status }: TaskState,
  wanted: TaskContract,
): void {
  if (isSameContract(contract, wanted)) return;
  const { task_id: id } = contract;
  const isRead = status === 'proposal' || status === 'human_consultation';
  throw new HubError(
    'HUB_TASK_EXISTS',
    `${repository}: task ${id} is ${status}, with another contract. ${isRead ? 'Edit _handoff/TASK_CONTRACT.json and run "agenthub task setup"' : 'Finish it'}, or run "agenthub task cancel ${id}" and choose another id`,
  );
}
