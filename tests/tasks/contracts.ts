import type { TaskContract } from '../../hub/tasks/contract.ts';
import { parseContract } from '../../hub/tasks/contract.ts';

/** Contract as a user writes it, with only the required fields. */
export const written = {
  task_id: 'add-sum',
  specification: { requirements: ['sum(a, b) returns a + b'], target_file: 'src/sum.mjs' },
  roles: { implementer: 'coder', local_reviewer: 'critic' },
};

export const contractOf = (changes: object = {}): TaskContract =>
  parseContract({ ...written, ...changes });
