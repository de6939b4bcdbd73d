import { z } from 'zod';
import { describeKeys, interpreted } from './schema-parts.ts';

const dayMs = 86_400_000;

export const activitySchema = describeKeys(
  z.strictObject({
    store: z.boolean().default(true),
    max_bytes: z
      .int()
      .min(64 * 2 ** 10)
      .max(2 ** 28)
      .default(4 * 2 ** 20),
    max_age_days: z.number().positive().max(3_650).default(30),
  }),
  {
    store:
      'false: calls are kept in memory only, and those of earlier runs are removed. Default: true.',
    max_bytes:
      'Maximum size of the stored calls in bytes. The older half is removed then. Default: 4194304, about 25,000 calls.',
    max_age_days:
      'Maximum age of stored calls in days. Older calls of earlier runs are no longer shown. Default: 30.',
  },
);

/** Options of `activity` in the config. */
export type ActivityConfig = Readonly<ReturnType<typeof readActivity>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readActivity = (written = activitySchema.parse({}, interpreted)) => ({
  store: written.store,
  maxBytes: written.max_bytes,
  maxAgeMs: written.max_age_days * dayMs,
});
