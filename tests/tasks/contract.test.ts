import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'vitest';
import {
  contractSchemaText,
  parseContract,
  parseContractText,
  pathRulesOf,
} from '../../hub/tasks/contract.ts';
import { contractOf, written } from './contracts.ts';

test('only the fields of the smallest contract are required', () => {
  assert.deepEqual(parseContract(written), {
    task_id: 'add-sum',
    specification: {
      requirements: ['sum(a, b) returns a + b'],
      target_file: 'src/sum.mjs',
      source_files: [],
      constraints: [],
      forbidden_paths: [],
    },
    roles: { implementer: 'coder', local_reviewer: 'critic' },
    budget: {},
    status: 'proposal',
    attempt: 1,
    handoff_data: {
      changed_files: [],
      local_review_passed: null,
      local_review_issues: [],
      tokens: { prompt: 0, completion: 0 },
      cost: 0,
      branch: null,
      checkpoints: [],
    },
  });
});

test.each([
  ['erik_consultation', 'human_consultation'],
  ['merged', 'done'],
  ['proposal', 'proposal'],
])('the old spelling %s is read as %s', (old, status) => {
  assert.equal(contractOf({ status: old }).status, status);
});

test('without allowed_paths, only the target file may be written', () => {
  assert.deepEqual(pathRulesOf(contractOf()), { allowed: ['src/sum.mjs'], forbidden: [] });
  const specification = { ...written.specification, allowed_paths: [], forbidden_paths: ['ci/'] };
  assert.deepEqual(pathRulesOf(contractOf({ specification })), {
    allowed: [],
    forbidden: ['ci/'],
  });
});

const { specification, roles } = written;
test.each<readonly [string, object, string]>([
  ['no id', { task_id: undefined }, 'task_id: is missing: write a string'],
  [
    'an id that is not a name of a branch',
    { task_id: '../x' },
    'task_id: "../x": write 1 to 63 letters, digits, "-" and "_", with a letter or digit at both ends',
  ],
  [
    'an unknown field',
    { specification: { ...specification, target: 'x' } },
    'specification.target: is not a field of a contract: remove it or correct its spelling',
  ],
  [
    'a long name of an unknown field',
    { specification: { ...specification, ['x'.repeat(1_000)]: 1 } },
    `specification.${'x'.repeat(46)}...: is not a field of a contract: remove it or correct its spelling`,
  ],
  [
    'a wrong type',
    { specification: { ...specification, requirements: 'add' } },
    'specification.requirements: write an array, not "add"',
  ],
  [
    'no requirements',
    { specification: { ...specification, requirements: [] } },
    'specification.requirements: [] is too small: write 1 or more entries',
  ],
  [
    'a target outside the repository',
    { specification: { ...specification, target_file: '/etc/x' } },
    'specification.target_file: "/etc/x": it is absolute: name it relative to the top folder',
  ],
  [
    'a source in the git folder',
    { specification: { ...specification, source_files: ['.git/config'] } },
    'specification.source_files.0: ".git/config": it has the part ".git", which is git\'s own',
  ],
  ['a large attempt', { attempt: 100 }, 'attempt: 100 is too large: write at most 99'],
  ['a broken attempt', { attempt: 1.5 }, 'attempt: write a whole number, not 1.5'],
  [
    'an unknown status',
    { status: 'open' },
    'status: "open" is not allowed: write "proposal", "pending_implementer", "pending_local_review", "pending_judge_review", "done", "human_consultation", "cancelled", "erik_consultation", "merged"',
  ],
  [
    'one model for both roles',
    { roles: { ...roles, local_reviewer: 'coder' } },
    'roles.local_reviewer: "coder" is the implementer too: name another model',
  ],
  [
    'more commands than the gate runs',
    { acceptance: { commands: Array.from({ length: 51 }, () => 'a') } },
    `acceptance.commands: ${JSON.stringify(Array.from({ length: 51 }, () => 'a')).slice(0, 60)}... is too large: write at most 50 entries`,
  ],
  [
    'a command that the gate refuses for its length',
    { acceptance: { commands: ['x'.repeat(10_001)] } },
    `acceptance.commands.0: "${'x'.repeat(59)}... is too large: write at most 10000 characters`,
  ],
  [
    'a command that no shell gets',
    { acceptance: { commands: ['a\0b'] } },
    String.raw`acceptance.commands.0: "a\u0000b": it has a NUL character: remove it`,
  ],
  [
    'more time than the gate gives',
    { acceptance: { commands: ['a'], timeout: 21_601 } },
    'acceptance.timeout: 21601 is too large: write at most 21600',
  ],
  [
    'an image that the gate refuses',
    { acceptance: { commands: ['a'], image: '-v /:/x' } },
    'acceptance.image: "-v /:/x": it is not the name of an image, such as node:24-slim',
  ],
])('%s is refused with field, value and remedy', (_, changes, problem) => {
  assert.throws(() => contractOf(changes), {
    code: 'HUB_CONTRACT_INVALID',
    message: `_handoff/TASK_CONTRACT.json: ${problem}`,
  });
});

test('the text of a contract may begin with a byte order mark', () => {
  assert.equal(parseContractText(`\uFEFF${JSON.stringify(written)}`).task_id, 'add-sum');
  assert.throws(() => parseContractText('{'), {
    code: 'HUB_CONTRACT_INVALID',
    message: /^_handoff\/TASK_CONTRACT\.json: is not JSON: /,
  });
});

test('configs/task-contract.schema.json is the output of "agenthub schema --task"', async () => {
  assert.equal(await readFile('configs/task-contract.schema.json', 'utf8'), contractSchemaText());
});
