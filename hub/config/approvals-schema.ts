import { z } from 'zod';
import { describeKeys } from './server-schema.ts';
import { interpreted } from './schema-parts.ts';

const seconds = z.number().min(1).max(86_400);
const waiting = z.int().min(1).max(10_000);

export const approvalsSchema = describeKeys(
  z.strictObject({
    lifetime: seconds.default(600),
    max_waiting: waiting.default(1_000),
    max_waiting_per_client: waiting.default(200),
    agent_wait: seconds.default(300),
  }),
  {
    lifetime:
      'Seconds for which a call waits for a person. Also how long an approval waits for its call, and how long a denial holds. Default: 600.',
    max_waiting: 'Maximum number of calls that wait for a person. Default: 1000.',
    max_waiting_per_client: 'Maximum number of those of one client. Default: 200.',
    agent_wait:
      'Seconds for which the call of an agent waits for a person. It is refused after that. Default: 300.',
  },
);

/** Options of `approvals` in the config. */
export type ApprovalsConfig = {
  /** Time limit for a person's decision, and another one for the client to repeat its call afterwards, in ms each. */
  readonly lifetimeMs: number;
  /** Maximum number of approvals that wait for a decision or for the client to repeat its call. */
  readonly maxWaiting: number;
  /** Maximum number of waiting approvals of one principal. */
  readonly maxWaitingPerClient: number;
  /** Time that a call of an agent waits for a person's decision, in ms. */
  readonly agentWaitMs: number;
};

/** Converts the options as written. Returns the defaults if there are none. */
export function readApprovals(
  written: z.output<typeof approvalsSchema> | undefined,
): ApprovalsConfig {
  const {
    lifetime,
    max_waiting: maxWaiting,
    max_waiting_per_client: maxWaitingPerClient,
    agent_wait: agentWait,
  } = written ?? approvalsSchema.parse({}, interpreted);
  return {
    lifetimeMs: lifetime * 1_000,
    maxWaiting,
    maxWaitingPerClient,
    agentWaitMs: agentWait * 1_000,
  };
}
