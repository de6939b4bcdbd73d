import type { FastifyInstance } from 'fastify';
import type { NamedClient, NamedClients } from '#access';
import { administered } from '../guard.ts';
import { changing } from './audit.ts';
import { invalid, membersOf, type Named, readQuery, refuseBody, timeOf } from './input.ts';

type Needs = {
  readonly clients: Pick<NamedClients, 'list' | 'find' | 'create' | 'revoke' | 'isRequired'>;
  /** True if calls need a token, by the config or for another reason. */
  readonly needsToken: () => boolean;
};

/**
 * Adds the routes of clients by name: `/clients`, with `sha256` only the client whose token has that digest, and
 * `/clients/{name}/token`. They never return a stored token or its digest.
 */
export function clientRoutes(app: FastifyInstance, { clients, needsToken }: Needs): void {
  app.get('/clients', administered, async (request, reply) => {
    const { sha256 } = readQuery(request, ['sha256']);
    const owner = sha256 === undefined ? undefined : clients.find({ digest: readDigest(sha256) });
    const isWanted = ({ name }: NamedClient) =>
      sha256 === undefined || (owner?.principal !== undefined && owner.name === name);
    const body = {
      tokens: clients.isRequired ? 'required' : 'optional',
      calls_need_token: needsToken(),
      clients: clients.list().filter(isWanted).map(shownClient),
    };
    return await reply.header('cache-control', 'no-store').send(body);
  });

  app.post<Named>('/clients/:name/token', changing('token_created'), async (request, reply) => {
    const digest = digestIn(request.body, 'POST /clients/{name}/token');
    const { name, token, createdAt, replaced } = await clients.create(request.params.name, digest);
    const made = { name, ...(token !== undefined && { token }) };
    const body = { ...made, created_at: timeOf(createdAt), replaced };
    return await reply.code(201).header('cache-control', 'no-store').send(body);
  });

  app.delete<Named>('/clients/:name/token', changing('token_revoked'), async (request, reply) => {
    const digest = digestIn(request.body, 'DELETE /clients/{name}/token');
    await clients.revoke(request.params.name, digest);
    return await reply.code(204).send();
  });
}

const digestPattern = /^[0-9a-f]{64}$/;

/** Reads the SHA-256 digest of a token in hex from a body; undefined if the body has none. */
function digestIn(body: unknown, route: string): string | undefined {
  const { sha256, ...others } = membersOf(body);
  refuseBody(others, `${route}, but for "sha256",`);
  return sha256 === undefined ? undefined : readDigest(sha256).toString('hex');
}

function readDigest(value: unknown): Buffer {
  if (typeof value === 'string' && digestPattern.test(value)) return Buffer.from(value, 'hex');
  throw invalid('sha256: write the SHA-256 of the token, as 64 hex digits in lower case');
}

function shownClient(client: NamedClient) {
  const { name, administer, source, createdAt, expiresAt, seenAt, calls, refused } = client;
  return {
    name,
    administer,
    /** Source of the client's token. */
    token: source ?? null,
    created_at: createdAt === undefined ? null : timeOf(createdAt),
    /** Only tokens of logins expire. */
    ...(expiresAt !== undefined && { expires_at: timeOf(expiresAt) }),
    last_seen: seenAt === undefined ? null : timeOf(seenAt),
    calls,
    refused,
  };
}
