import { z } from 'zod';
import { describeKeys, interpreted } from './schema-parts.ts';

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
export type ApprovalsConfig = Readonly<ReturnType<typeof readApprovals>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readApprovals = (written = approvalsSchema.parse({}, interpreted)) => ({
  /** Time limit for a person's decision, and another one for the client to repeat its call afterwards, in ms each. */
  lifetimeMs: written.lifetime * 1_000,
  /** Maximum number of approvals that wait for a decision or for the client to repeat its call. */
  maxWaiting: written.max_waiting,
  /** Maximum number of waiting approvals of one principal. */
  maxWaitingPerClient: written.max_waiting_per_client,
  /** Time that a call of an agent waits for a person's decision, in ms. */
  agentWaitMs: written.agent_wait * 1_000,
});
