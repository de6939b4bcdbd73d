import { z } from 'zod';
import { contractSchema, taskStatuses } from './contract.ts';

/** Phases in which a model works. Each ends in a checkpoint. */
const taskPhases = ['implementer', 'local_review'] as const;
const phase = z.enum(taskPhases);
export type TaskPhase = z.output<typeof phase>;

/** Why an attempt of a model came to nothing. Each is a strike. */
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
    /** Undefined: the contract has no acceptance. */
    image: z.string().optional(),
    commands: z.array(command),
    /** Paths that must not be changed, and why. */
    faults: z.array(z.object({ path: z.string(), why: z.string() })),
    /** Secrets in added lines, without their values. */
    secrets: z.array(z.object({ path: z.string(), line: z.number(), what: z.string() })),
  })
  .readonly();
/** Outcome of the checks before the review. */
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
    /** Number of issues whose quote is not in the diff. */
    dropped: z.number(),
  })
  .readonly();
export type LocalReview = z.output<typeof review>;

const failure = z
  .object({
    phase,
    attempt: z.number(),
    cause,
    /** What went wrong, for the model and for people. */
    detail: z.string(),
    /** The end of the answer. Empty if there was none. */
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

/** Tokens and time that the task has used in all its phases. */
const totals = z
  .object({
    calls: z.number(),
    promptTokens: z.number(),
    completionTokens: z.number(),
    /** Time of models and gates, in ms. */
    workMs: z.number(),
    /** Cost of the calls to models with a price. Local models cost 0. */
    cost: z.number(),
  })
  .readonly();
/** What went wrong with an answer that is asked for once more, in the same attempt. */
const repair = z.object({ answer: z.string(), problem: z.string() }).readonly();

/** Work of the hub that is under way, or that a kill cut off. Each is safe to begin again. */
const step = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('idle') }),
  /** Makes branch and worktree. */
  z.object({ kind: z.literal('preparing') }),
  /** Asks a model. */
  z.object({ kind: z.literal('asking'), phase, repair: repair.optional() }),
  /** Applies the answer of the implementer in the worktree, and checks the result. */
  z.object({ kind: z.literal('applying'), answer: z.string(), repaired: z.boolean() }),
  /** Commits what has passed the gate. */
  z.object({ kind: z.literal('committing'), answer: z.string(), gate }),
  /** Reads the answer of the reviewer. */
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
    /** Top folder of the repository: an absolute path. */
    repository: z.string(),
    /** Who made the task, by the name in the policy. */
    principal: z.string(),
    status: z.enum(taskStatuses),
    step,
    /** The job of the step, unless it is idle. */
    job: z.string().optional(),
    /** Goes on with the next phase by itself until a person is needed. */
    isUnattended: z.boolean(),
    attempt: z.number(),
    reviewAttempt: z.number(),
    /** Tokens of the phase that is under way. */
    phaseTokens: z.number(),
    /** Of this round: since the task was set up, or the judge sent it back. Oldest first. */
    failures: z.array(failure).readonly(),
    branch: z.string().optional(),
    baseBranch: z.string().optional(),
    /** The commit of the base branch from which the task began. */
    base: z.string().optional(),
    checkpoints: z.array(checkpoint).readonly(),
    changedFiles: z.array(z.string()).readonly(),
    gate: gate.optional(),
    review: review.optional(),
    /** Number of times that the judge said fail. */
    judgeFails: z.number(),
    verdict: z.enum(['pass', 'fail']).optional(),
    judgeNotes: z.string().optional(),
    merged: z.string().optional(),
    /** A fault of the infrastructure that ended the last phase. It changed nothing. */
    halted: z.object({ code: z.string(), message: z.string() }).readonly().optional(),
    /** Why a person is needed. */
    why: z.string().optional(),
    totals,
    createdAt: z.number(),
    updatedAt: z.number(),
    /** The newest events, oldest first. */
    history: z.array(note).readonly(),
  })
  .readonly();

/** Everything the hub knows about a task. It is stored whole with each event. */
export type TaskState = z.output<typeof state>;

/** Parses a stored state. Undefined for a value that is none. */
export const parseTaskState = (value: unknown): TaskState | undefined =>
  state.safeParse(value).data;
