import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { WrittenClients, perSession } from './clients-schema.ts';
import type { Problem } from './problem.ts';
import { type Environment, type SecretValues, expandStrings, variablesIn } from './variables.ts';

/** A client with an entry in the config. */
export type ClientConfig = {
  readonly name: string;
  /** SHA-256 of the token in the config, in hex. Absent if the token was created with `agenthub token create`. */
  readonly tokenDigest?: string;
  /** True if the config contains the token in plain text, instead of a variable or a digest. */
  readonly hasPlainToken?: boolean;
  readonly administer: boolean;
  /** Why the client may not administer the hub although its entry says so: a person must first approve the change. */
  readonly heldBack?: string;
  /** Profile that limits what the client sees, unless the URL of its request names another one. */
  readonly profile?: string;
  readonly maxConcurrentCalls?: number;
  readonly rate?: CallRate;
};

/** Limits on the calls of a client, or of a session. */
export type CallLimitsConfig = Pick<ClientConfig, 'maxConcurrentCalls' | 'rate'>;

/** Rate limit: at most `calls` calls in `perMs` ms. */
type CallRate = { readonly calls: number; readonly perMs: number };

/** Form of a token: at least 16 printable characters without spaces, so that it cannot be guessed. */
const tokenPattern = /^[\x21-\x7e]{16,}$/;
const digestPattern = /^sha256:([0-9a-f]{64})$/i;
const tokenRule =
  'write "${NAME}", or "sha256:" and the 64 hex digits of its SHA-256. A token has at least 16 printable characters without spaces';

/** Converts the clients of a config file, and expands the variables in their tokens. */
export function readClients(
  written: WrittenClients,
  env: Environment,
  secrets: SecretValues = new Map(),
) {
  const problems: Problem[] = [];
  const clients = Object.entries(written).map(([name, client]): ClientConfig => {
    const token = readToken(name, client.token, env, secrets);
    problems.push(...token.problems);
    return {
      name,
      ...(token.digest !== undefined && { tokenDigest: token.digest }),
      ...(token.isPlain && { hasPlainToken: true }),
      administer: client.administer,
      ...(client.profile !== undefined && { profile: client.profile }),
      ...readLimits(client),
    };
  });
  return { clients, problems: [...problems, ...findShared(clients)] };
}

export const readLimits = ({
  max_concurrent_calls: maxConcurrentCalls,
  rate,
}: z.output<typeof perSession>): CallLimitsConfig => ({
  ...(maxConcurrentCalls !== undefined && { maxConcurrentCalls }),
  ...(rate && { rate: { calls: rate.calls, perMs: rate.per * 1000 } }),
});

function readToken(
  name: string,
  written: string | undefined,
  env: Environment,
  secrets: SecretValues,
) {
  if (written === undefined) return { problems: [] };
  const path = ['clients', name, 'token'];
  const expanded = expandStrings(written, path, env, secrets);
  const problems = [...expanded.problems, ...expanded.secretFaults];
  if (problems.length > 0) return { problems };
  const token = String(expanded.value);
  const [, digest] = digestPattern.exec(token) ?? [];
  if (digest !== undefined) return { problems, digest: digest.toLowerCase() };
  if (!tokenPattern.test(token) || /^sha256:/i.test(token))
    return { problems: [{ path, text: tokenRule }] };
  const isPlain = variablesIn(written).length === 0;
  return { problems, digest: hash('sha256', token), isPlain };
}

/** Returns a problem for each token that two clients share. */
function findShared(clients: readonly ClientConfig[]): readonly Problem[] {
  const owners = new Map<string, string>();
  return clients.flatMap(({ name, tokenDigest }) => {
    if (tokenDigest === undefined) return [];
    const other = owners.get(tokenDigest);
    owners.set(tokenDigest, other ?? name);
    const rule = `is also the token of ${other}: give each client its own`;
    return other === undefined ? [] : [{ path: ['clients', name, 'token'], text: rule }];
  });
}
