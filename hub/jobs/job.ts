import { type Code, codes, isObject } from '#core';

/** A line that a job wrote, and the step that it belongs to. */
export type JobLine = { readonly step: string; readonly text: string };

/** Why a job did not succeed. */
export type JobError = { readonly code: Code; readonly message: string };

type JobFacts = {
  readonly id: string;
  /** The kind of work: `install`. */
  readonly kind: string;
  /** What is done to what, for people: `Install @org/server`. */
  readonly title: string;
  /** The name of the principal that began it. */
  readonly principal: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The newest step, in the hub's own words: never what a server or an installer wrote. */
  readonly progress: JobLine | undefined;
};

/**
 * Work that outlives the request which began it. `interrupted`: the hub stopped or was killed while the job ran; the
 * time of that is not known where it was killed.
 */
export type Job = JobFacts &
  (
    | { readonly state: 'running' }
    | {
        readonly state: 'done';
        readonly endedAt: number;
        readonly result: Readonly<Record<string, unknown>>;
      }
    | {
        readonly state: 'failed' | 'cancelled' | 'interrupted';
        readonly endedAt: number | undefined;
        readonly error: JobError;
      }
  );

export type JobState = Job['state'];

/** A job as a record of the journal has it. Undefined for any other value. */
export function parseJob(value: unknown): Job | undefined {
  if (!isObject(value)) return undefined;
  const { id, kind, title, principal, startedAt, endedAt, state, progress, result, error } = value;
  if (
    typeof id !== 'string' ||
    typeof kind !== 'string' ||
    typeof title !== 'string' ||
    typeof principal !== 'string' ||
    typeof startedAt !== 'number'
  )
    return undefined;
  const facts = { id, kind, title, principal, startedAt, progress: parseLine(progress) };
  switch (state) {
    case 'running':
      return { ...facts, state };
    case 'done':
      if (typeof endedAt !== 'number') return undefined;
      return { ...facts, state, endedAt, result: isObject(result) ? result : {} };
    case 'failed':
    case 'cancelled':
    case 'interrupted':
      return {
        ...facts,
        state,
        endedAt: typeof endedAt === 'number' ? endedAt : undefined,
        error: parseError(error),
      };
    default:
      return undefined;
  }
}

function parseLine(value: unknown): JobLine | undefined {
  const { step, text } = isObject(value) ? value : {};
  return typeof step === 'string' && typeof text === 'string' ? { step, text } : undefined;
}

function parseError(value: unknown): JobError {
  const { code, message } = isObject(value) ? value : {};
  return {
    code: isCode(code) ? code : 'HUB_INTERNAL',
    message: typeof message === 'string' ? message : '',
  };
}

const isCode = (value: unknown): value is Code =>
  typeof value === 'string' && Object.hasOwn(codes, value);
