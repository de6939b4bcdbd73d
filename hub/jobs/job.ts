import { type Code, codes, isObject } from '#core';

/** An output line of a job, and the step that wrote it. */
export type JobLine = { readonly step: string; readonly text: string };

/** Why a job did not succeed. */
export type JobError = { readonly code: Code; readonly message: string };

type JobFacts = {
  readonly id: string;
  readonly kind: string;
  /** Title for people, such as `Install @org/server`. */
  readonly title: string;
  readonly principal: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The current step. Written by the hub: contains no output of servers or installers. */
  readonly progress: JobLine | undefined;
};

/** Work that outlives its request. `interrupted`: the hub stopped meanwhile; `endedAt` is undefined if it was killed. */
export type Job = JobFacts &
  Readonly<
    | { state: 'running' }
    | { state: 'done'; endedAt: number; result: Readonly<Record<string, unknown>> }
    | {
        state: 'failed' | 'cancelled' | 'interrupted';
        endedAt: number | undefined;
        error: JobError;
      }
  >;

export type JobState = Job['state'];

/** Parses a record of the journal. Returns undefined for a value that is not a job. */
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
    case 'interrupted': {
      const end = typeof endedAt === 'number' ? endedAt : undefined;
      return { ...facts, state, endedAt: end, error: parseError(error) };
    }
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
