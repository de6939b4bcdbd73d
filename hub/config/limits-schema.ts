import { z } from 'zod';
import { maxConcurrentCalls, rate } from './clients-schema.ts';
import { describeKeys } from './schema-parts.ts';

export const perSession = describeKeys(
  z.strictObject({
    max_concurrent_calls: maxConcurrentCalls.exactOptional(),
    rate: rate.exactOptional(),
  }),
  {
    max_concurrent_calls:
      'Maximum number of calls of a session at the same time. Default: no limit.',
    rate: 'Maximum rate of calls of a session. Default: no limit.',
  },
);

export const limits = describeKeys(z.strictObject({ per_session: perSession.exactOptional() }), {
  per_session:
    'Limits of each session of a caller that is not a client by name. Requests without a session count as one session of their caller.',
});
