import { z } from 'zod';
import { profileName } from './profiles-schema.ts';
import { describeKeys, secondsBetween, shortName, text } from './schema-parts.ts';

/** Reserved names of principals, which no configured client may have. */
export const reservedClientNames: readonly string[] = ['local', 'owner', 'token', 'stdio'];

const isReserved = (name: string) => reservedClientNames.includes(name.toLowerCase());

export const clientName = shortName('the name of a client').refine(name => !isReserved(name), {
  error: ({ input }) => `${JSON.stringify(input)} is reserved by the hub: choose another name`,
});

/** Returns the reason why a name is not allowed for a client; undefined if it is allowed. */
export const whyNoClientName = (name: string): string | undefined =>
  clientName.safeParse(name).error?.issues[0]?.message;

/** Maximum period of a rate limit, in seconds: one day. */
const maxPeriod = 86_400;

const maxConcurrentCalls = z.int().min(1).max(10_000);

const rate = describeKeys(
  z.strictObject({
    calls: z.int().min(1).max(1_000_000),
    per: secondsBetween(1, maxPeriod),
  }),
  { calls: 'Maximum number of calls in the period.', per: 'Length of the period in seconds.' },
);

export const clientSchema = describeKeys(
  z.strictObject({
    token: text.exactOptional(),
    administer: z.boolean().default(false),
    profile: profileName.exactOptional(),
    max_concurrent_calls: maxConcurrentCalls.exactOptional(),
    rate: rate.exactOptional(),
  }),
  {
    token:
      'Bearer token of the client: "${NAME}", or "sha256:" and the SHA-256 of the token in hex. Default: the token that `agenthub token create` makes.',
    administer:
      "true: the client may administer the hub, as with the owner's key. Default: false, calls only.",
    profile:
      'The profile of the client where its address names none. Default: no profile, which shows everything.',
    max_concurrent_calls:
      'Maximum number of calls of the client at the same time. Default: no limit.',
    rate: 'Maximum rate of calls of the client. Default: no limit.',
  },
);

export type WrittenClients = Readonly<Record<string, z.output<typeof clientSchema>>>;

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
