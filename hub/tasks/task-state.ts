import { z } from 'zod';
import { contractSchema, taskStatuses } from './contract.ts';

/** Phases in which a model works. Each ends with a checkpoint. */
const taskPhases = ['implementer', 'local_review'] as const;
const phase = z.enum(taskPhases);
export type TaskPhase = z.output<typeof phase>;

/** Reasons why an attempt of a model failed. */
const stallCauses = [
  'empty_output',
  'malformed_output',
  'timeout',
  'thinking_only',
  'cut_off',
  'no_change',
  'repeated_output',
  'gate_failed',
  'forbidden_path',
  'secret_found',
] as const;
const cause = z.enum(stallCauses);
export type StallCause = z.output<typeof cause>;

const command = z.object({
  command: z.string(),
  exitCode: z.number().optional(),
  output: z.string(),
  durationMs: z.number(),
  timedOut: z.boolean(),
});

const gate = z
  .object({
    passed: z.boolean(),
    /** Image of the acceptance commands. Undefined: the contract has none. */
    image: z.string().optional(),
    commands: z.array(command),
    /** Changed paths that the task must not change, and why. */
    faults: z.array(z.object({ path: z.string(), why: z.string() })),
    /** Secrets in added lines, without their values. */
    secrets: z.array(z.object({ path: z.string(), line: z.number(), what: z.string() })),
  })
  .readonly();
/** Result of the checks before the review. */
export type GateResult = z.output<typeof gate>;

const reviewIssue = z
  .object({
    path: z.string(),
    line: z.number().optional(),
    severity: z.enum(['critical', 'major', 'minor']),
    rule: z.string(),
    quote: z.string(),
    why: z.string(),
  })
  .readonly();
export type ReviewIssue = z.output<typeof reviewIssue>;

const review = z
  .object({
    passed: z.boolean(),
    critical: z.boolean(),
    issues: z.array(reviewIssue).readonly(),
    /** Number of issues that were dropped because their quote is not in the diff. */
    dropped: z.number(),
  })
  .readonly();
export type LocalReview = z.output<typeof review>;

const failure = z
  .object({
    phase,
    attempt: z.number(),
    cause,
    /** Description of the failure, for the model and for people. */
    detail: z.string(),
    /** End of the answer. Empty if there was none. */
    output: z.string(),
    gate: gate.optional(),
    at: z.number(),
  })
  .readonly();
export type FailedAttempt = z.output<typeof failure>;

const checkpoint = z
  .object({
    phase,
    attempt: z.number(),
    commit: z.string(),
    model: z.string(),
    tokens: z.number(),
    at: z.number(),
  })
  .readonly();
export type TaskCheckpoint = z.output<typeof checkpoint>;

/** Calls, tokens, time and cost of all phases of a task. */
const totals = z
  .object({
    calls: z.number(),
    promptTokens: z.number(),
    completionTokens: z.number(),
    /** Time that models and checks took, in ms. */
    workMs: z.number(),
    /** Cost of calls to models with a price. Local models cost 0. */
    cost: z.number(),
  })
  .readonly();
/** An answer that could not be parsed, and its problem. The model is asked once more in the same attempt. */
const repair = z.object({ answer: z.string(), problem: z.string() }).readonly();

/** Current step of a task. Each can be repeated after a crash. */
const step = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('idle') }),
  /** Creates the branch and the worktree. */
  z.object({ kind: z.literal('preparing') }),
  /** Asks a model. */
  z.object({ kind: z.literal('asking'), phase, repair: repair.optional() }),
  /** Applies the answer of the implementer in the worktree, and checks the result. */
  z.object({ kind: z.literal('applying'), answer: z.string(), repaired: z.boolean() }),
  /** Commits the answer that has passed the checks. */
  z.object({ kind: z.literal('committing'), answer: z.string(), gate }),
  /** Parses the answer of the reviewer. */
  z.object({ kind: z.literal('reading'), answer: z.string(), repaired: z.boolean() }),
  /** Commits the checkpoint of the review. */
  z.object({ kind: z.literal('recording'), review }),
  z.object({ kind: z.literal('merging') }),
  z.object({ kind: z.literal('rolling_back'), commit: z.string() }),
  /** Removes the worktree. */
  z.object({ kind: z.literal('cleaning') }),
]);
export type TaskStep = Readonly<z.output<typeof step>>;

const note = z.object({ at: z.number(), status: z.enum(taskStatuses), text: z.string() });

const state = z
  .object({
    contract: contractSchema,
    /** Absolute path of the top folder of the repository. */
    repository: z.string(),
    /** Policy name of the principal who created the task. */
    principal: z.string(),
    status: z.enum(taskStatuses),
    step,
    /** Id of the job that runs the step. Undefined for an idle task. */
    job: z.string().optional(),
    /** True if the task continues with the next phase by itself until a person is needed. */
    isUnattended: z.boolean(),
    attempt: z.number(),
    reviewAttempt: z.number(),
    /** Tokens used in the current phase. */
    phaseTokens: z.number(),
    /** Failed attempts since the task was set up or the judge sent it back, the oldest first. */
    failures: z.array(failure).readonly(),
    branch: z.string().optional(),
    baseBranch: z.string().optional(),
    /** Commit of the base branch from which the task's branch started. */
    base: z.string().optional(),
    checkpoints: z.array(checkpoint).readonly(),
    changedFiles: z.array(z.string()).readonly(),
    gate: gate.optional(),
    review: review.optional(),
    /** Number of `fail` verdicts of the judge. */
    judgeFails: z.number(),
    verdict: z.enum(['pass', 'fail']).optional(),
    judgeNotes: z.string().optional(),
    merged: z.string().optional(),
    /** Fault of the infrastructure that ended the last phase. It counts as no attempt. */
    halted: z.object({ code: z.string(), message: z.string() }).readonly().optional(),
    /** Reason why a person is needed. */
    why: z.string().optional(),
    totals,
    createdAt: z.number(),
    updatedAt: z.number(),
    /** The newest events, the oldest first. */
    history: z.array(note).readonly(),
  })
  .readonly();

/** The state of a task, which is stored as a whole after each event. */
export type TaskState = z.output<typeof state>;

/** Parses a stored state; undefined if it is invalid. */
export const parseTaskState = (value: unknown): TaskState | undefined =>
  state.safeParse(value).data;
