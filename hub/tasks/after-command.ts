import { requireFitting } from './fitting.ts';
import { phaseOf } from './phases.ts';
import { askPerson, ending, newRound } from './task-changes.ts';
import type { TaskCommand } from './task-events.ts';
import type { TaskState, TaskStep } from './task-state.ts';

/** Maximum number of `fail` verdicts of the judge that start another round. The next one asks a person. */
const maxJudgeFails = 1;

/** Returns the state after a command. Throws HUB_TASK_STATE or HUB_TASK_BUSY if the state does not allow it. */
export function afterCommand(task: TaskState, command: TaskCommand): TaskState {
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
      const { job, contract = task.contract } = command;
      return { ...rest, contract, isUnattended, job, phaseTokens: 0, step };
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
