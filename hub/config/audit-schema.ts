import { z } from 'zod';
import { describeKeys, interpreted } from './schema-parts.ts';

const dayMs = 86_400_000;

export const auditSchema = describeKeys(
  z.strictObject({
    enabled: z.boolean().default(true),
    max_bytes: z
      .int()
      .min(64 * 2 ** 10)
      .max(2 ** 30)
      .default(8 * 2 ** 20),
    max_age_days: z.number().positive().max(3_650).default(30),
    keep: z.int().min(1).max(10_000).default(8),
    on_failure: z.enum(['refuse', 'continue']).default('continue'),
  }),
  {
    enabled: 'false: no audit log is written. Default: true.',
    max_bytes:
      'Maximum size of a file of the audit log in bytes. The log continues in another file then. Default: 8388608.',
    max_age_days:
      'Maximum age of the first line of a file in days. The log continues in another file then. Default: 30.',
    keep: 'Number of files of the audit log. The oldest are removed. Default: 8.',
    on_failure:
      'What happens to calls while the audit log cannot be written, as on a full disk. "continue": calls go on, and the log says later how many lines are missing. "refuse": calls are refused with HUB_AUDIT_UNAVAILABLE. Default: "continue".',
  },
);

/** Options of `audit` in the config. */
export type AuditConfig = Readonly<ReturnType<typeof readAudit>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readAudit = (written = auditSchema.parse({}, interpreted)) => ({
  enabled: written.enabled,
  maxBytes: written.max_bytes,
  maxAgeMs: written.max_age_days * dayMs,
  keep: written.keep,
  onFailure: written.on_failure,
});
