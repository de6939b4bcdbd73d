import { isDeepStrictEqual } from 'node:util';
import { HubError, firstProblems, shortened, shown } from '#core';
import { acceptanceLimits, pathFault } from '#repositories';
import { z } from 'zod';

/** States of a task, in their usual order. `human_consultation` and `cancelled` are outside of it. */
export const taskStatuses = [
  'proposal',
  'pending_implementer',
  'pending_local_review',
  'pending_judge_review',
  'done',
  'human_consultation',
  'cancelled',
] as const;

/** Earlier names of states, which are still accepted. */
const spellings = { erik_consultation: 'human_consultation', merged: 'done' } as const;
const isSpelling = (status: string): status is keyof typeof spellings =>
  Object.hasOwn(spellings, status);

const maxItems = 100;
const text = z.string().trim().min(1).max(20_000);
const path = z.string().trim().min(1).max(1_024);
/** Path of a file in the repository. An invalid one is rejected here, before a model works. */
const file = path.refine(text => pathFault(text) === undefined, {
  error: ({ input }) => `it ${pathFault(String(input).trim())}`,
});
const list = <T extends z.ZodType>(item: T) => z.array(item).max(maxItems);
const modelName = z.string().trim().min(1).max(200);
const whole = (least: number, most: number) => z.int().min(least).max(most);

/** Id of a task. Its characters are safe in branch names and file names on every system. */
const taskId = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/,
    'write 1 to 63 letters, digits, "-" and "_", with a letter or digit at both ends',
  );

const issue = z.object({
  path: z.string(),
  line: z.number().nullish(),
  severity: z.string(),
  rule: z.string(),
  quote: z.string(),
  why: z.string(),
});

/** Results that the hub writes. It reads them from the journal, so a change of them in the file has no effect. */
const handoff = z
  .object({
    changed_files: z.array(z.string()).default([]),
    local_review_passed: z.boolean().nullable().default(null),
    local_review_issues: z.array(z.union([issue, z.string()])).default([]),
    tokens: z
      .object({ prompt: z.number(), completion: z.number() })
      .default({ prompt: 0, completion: 0 }),
    cost: z.number().default(0),
    branch: z.string().nullable().default(null),
    checkpoints: z.array(z.object({ phase: z.string(), commit: z.string() })).default([]),
  })
  .describe('Written by the hub.');

const specification = z.strictObject({
  goal: text.optional().describe('What is to be achieved, in one or two sentences.'),
  requirements: list(text).min(1).describe('What the result must do, one statement each.'),
  target_file: file.describe('The file to write, relative to the top folder of the repository.'),
  source_files: list(file).default([]).describe('Files that the implementer reads.'),
  constraints: list(text).default([]).describe('What the implementer must not do.'),
  allowed_paths: list(path)
    .optional()
    .describe(
      'Patterns of files that may be changed. Default: only target_file. Empty: every file.',
    ),
  forbidden_paths: list(path).default([]).describe('Patterns of files that must not be changed.'),
});

/** Acceptance commands, with the limits of `runAcceptance`, so that a bad contract is rejected before a model works. */
const acceptance = z.strictObject({
  commands: z
    .array(
      z
        .string()
        .trim()
        .min(1)
        .max(acceptanceLimits.commandLength)
        .refine(command => !command.includes('\0'), 'it has a NUL character: remove it'),
    )
    .min(1)
    .max(acceptanceLimits.commands)
    .describe('Shell commands that must all succeed.'),
  timeout: whole(1, acceptanceLimits.timeoutMs / 1_000)
    .default(600)
    .describe('Of all commands together, in seconds.'),
  image: z
    .string()
    .regex(acceptanceLimits.image, 'it is not the name of an image, such as node:24-slim')
    .optional()
    .describe('Image with the tools of the commands.'),
});

/** The schema of TASK_CONTRACT.json, from which configs/task-contract.schema.json is generated. */
export const contractSchema = z.strictObject({
  $schema: z.string().optional(),
  task_id: taskId.describe('Name of the task, also in its branch agenthub/<task_id>.'),
  specification,
  acceptance: acceptance
    .optional()
    .describe('Absent: only secrets and paths are checked before the review.'),
  roles: z.strictObject({
    implementer: modelName.describe('Model that writes the code.'),
    local_reviewer: modelName.describe('Another model, which reviews it.'),
  }),
  budget: z
    .strictObject({
      tokens: whole(1, 1_000_000_000).optional(),
      minutes: z.number().positive().max(100_000).optional(),
    })
    .default({})
    .describe('A person is asked when it is spent.'),
  status: z
    .enum([...taskStatuses, 'erik_consultation', 'merged'])
    .transform(status => (isSpelling(status) ? spellings[status] : status))
    .default('proposal')
    .describe('Written by the hub. A new task has "proposal".'),
  attempt: whole(1, 99).default(1).describe('Attempt of the implementer, from 1.'),
  handoff_data: handoff.default(() => handoff.parse({})),
});

/** Returns the JSON Schema of the contract: the text of configs/task-contract.schema.json. */
export function contractSchemaText(): string {
  const schema = contractSchema.meta({ title: 'Contract of a task of AgentHub' });
  const json = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

/** A parsed contract, with all defaults. */
export type TaskContract = z.output<typeof contractSchema>;

/** Path of the contract in its repository, for messages. */
export const contractPath = '_handoff/TASK_CONTRACT.json';

/** Parses a contract. Throws HUB_CONTRACT_INVALID, which names each invalid field, its value and the remedy. */
export function parseContract(value: unknown, source = contractPath): TaskContract {
  const parsed = contractSchema.safeParse(value, { reportInput: true });
  if (!parsed.success)
    throw invalidContract(
      source,
      firstProblems(parsed.error.issues.map(describeProblem)).join('; '),
    );
  const { roles } = parsed.data;
  if (roles.implementer === roles.local_reviewer)
    throw invalidContract(
      source,
      `roles.local_reviewer: ${shown(roles.local_reviewer)} is the implementer too: name another model`,
    );
  return parsed.data;
}

/** True if people have written the same into two contracts of one task. */
export const isSameContract = (one: TaskContract, other: TaskContract): boolean =>
  isDeepStrictEqual(writtenIn(one), writtenIn(other));

const writtenIn = ({ specification, acceptance, roles, budget }: TaskContract) => ({
  specification,
  acceptance,
  roles,
  budget,
});

/** Parses the text of a contract file. Throws HUB_CONTRACT_INVALID. */
export function parseContractText(contents: string, source = contractPath): TaskContract {
  let value: unknown;
  try {
    value = JSON.parse(contents.replace(/^\uFEFF/, ''));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidContract(source, `is not JSON: ${reason}`, cause);
  }
  return parseContract(value, source);
}

/** Returns the path patterns that the task may and may not write. */
export function pathRulesOf({ specification: of }: Pick<TaskContract, 'specification'>) {
  return { allowed: of.allowed_paths ?? [of.target_file], forbidden: of.forbidden_paths };
}

const invalidContract = (source: string, problem: string, cause?: unknown) =>
  new HubError('HUB_CONTRACT_INVALID', `${source}: ${problem}`, { cause });

function describeProblem(problem: z.core.$ZodIssue): string {
  const field = problem.path.join('.') || 'the contract';
  if (problem.code === 'unrecognized_keys')
    return `${shortened([...problem.path, problem.keys[0]].join('.'))}: is not a field of a contract: remove it or correct its spelling`;
  if (problem.code === 'invalid_type')
    return problem.input === undefined
      ? `${field}: is missing: write ${article(problem.expected)}`
      : `${field}: write ${article(problem.expected)}, not ${shown(problem.input)}`;
  if (problem.code === 'invalid_value')
    return `${field}: ${shown(problem.input)} is not allowed: write ${problem.values.map(shown).join(', ')}`;
  if (problem.code === 'too_small')
    return `${field}: ${shown(problem.input)} is too small: write ${problem.minimum} or more${unitOf(problem.origin)}`;
  if (problem.code === 'too_big')
    return `${field}: ${shown(problem.input)} is too large: write at most ${problem.maximum}${unitOf(problem.origin)}`;
  return `${field}: ${shown(problem.input)}: ${problem.message}`;
}

const units: ReadonlyMap<string, string> = new Map([
  ['string', ' characters'],
  ['array', ' entries'],
]);
const unitOf = (origin: string) => units.get(origin) ?? '';

const article = (expected: string) =>
  expected === 'int'
    ? 'a whole number'
    : /^[aeo]/.test(expected)
      ? `an ${expected}`
      : `a ${expected}`;
