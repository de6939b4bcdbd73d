import { z } from 'zod';
import { type Code, isCode } from '#core';

const line = z.object({ step: z.string(), text: z.string() }).readonly();

/** An output line of a job, and the step that wrote it. */
export type JobLine = z.output<typeof line>;

const error = z
  .object({ code: z.custom<Code>(isCode).catch('HUB_INTERNAL'), message: z.string().catch('') })
  .readonly()
  .catch({ code: 'HUB_INTERNAL', message: '' });

/** Error of a job that did not succeed. */
export type JobError = z.output<typeof error>;

const facts = z.object({
  id: z.string(),
  kind: z.string(),
  /** Title for people, such as `Install @org/server`. */
  title: z.string(),
  principal: z.string(),
  /** Start of the job, in milliseconds since the epoch. */
  startedAt: z.number(),
  /** The current step. Its text comes from the hub, and contains no output of servers or installers. */
  progress: line.optional().catch(undefined),
});

const job = z.discriminatedUnion('state', [
  facts.extend({ state: z.literal('running') }),
  facts.extend({
    state: z.literal('done'),
    endedAt: z.number(),
    result: z.record(z.string(), z.unknown()).catch({}),
  }),
  facts.extend({
    state: z.enum(['failed', 'cancelled', 'interrupted']),
    endedAt: z.number().optional().catch(undefined),
    error,
  }),
]);

/** Work that outlives its request. `interrupted`: the hub stopped; then `endedAt` is undefined if it was killed. */
export type Job = Readonly<z.output<typeof job>>;

export type JobState = Job['state'];

/** Parses a record of the journal; undefined if the value is not a job. */
export const parseJob = (value: unknown): Job | undefined => job.safeParse(value).data;
