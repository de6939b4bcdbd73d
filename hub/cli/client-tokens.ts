import { HubError } from '#core';
import type { Run } from './command.ts';
import { type HubClient, createHubClient, isWithoutHub } from './hub-client.ts';
import type { HubPlace, StoredClients } from './needs.ts';
import { type Described, fieldsOf, objectsIn } from './responses.ts';

/** Clients by name and their tokens, of a running hub or of the data folder of a stopped one. */
export type ClientTokens = AsyncDisposable & {
  /**
   * Lists the clients as in `GET /clients`. With a digest, `clients` has only the client whose token has this digest.
   */
  list(digest?: string): Promise<{
    readonly tokens: string | undefined;
    readonly callsNeedToken: boolean;
    readonly clients: readonly Described[];
  }>;
  /** Creates a token from its digest in hex. Resolves to true if it replaces another token of the client. */
  create(name: string, digest: string): Promise<boolean>;
  /** Revokes the client's token; with a digest, only a token that has this digest. */
  revoke(name: string, digest?: string): Promise<void>;
};

/** Opens the tokens of a running hub, or those in the data folder if no hub runs. Rejects with HubError. */
export async function openClientTokens(place: HubPlace, run: Run): Promise<ClientTokens> {
  const running = ofHub(createHubClient(place, run));
  try {
    await running.list();
    return running;
  } catch (error) {
    if (!isWithoutHub(error, run)) throw error;
    return ofFolder(await run.needs.files.openTokens(text => run.remark('warning', text)));
  }
}

/** Gives access to the tokens of a running hub. */
export function ofHub({ ask }: Pick<HubClient, 'ask'>): ClientTokens {
  const pathOf = (name: string) => `/clients/${encodeURIComponent(name)}/token`;
  return {
    async list(digest) {
      const query = digest === undefined ? '' : `?sha256=${digest}`;
      const answer = fieldsOf(await ask({ method: 'GET', path: `/clients${query}` }));
      const { tokens } = answer;
      return {
        tokens: typeof tokens === 'string' ? tokens : undefined,
        callsNeedToken: answer['calls_need_token'] === true,
        clients: objectsIn(answer['clients']),
      };
    },
    async create(name, sha256) {
      const answer = await ask({ method: 'POST', path: pathOf(name), body: { sha256 } });
      return fieldsOf(answer)['replaced'] === true;
    },
    async revoke(name, sha256) {
      const body = sha256 === undefined ? {} : { body: { sha256 } };
      await ask({ method: 'DELETE', path: pathOf(name), ...body });
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Gives access to the tokens in a data folder, which stays locked until the result is disposed. */
export function ofFolder(stored: StoredClients): ClientTokens {
  return {
    async list(digest) {
      const { isRequired } = stored;
      const owner = digest && stored.find({ digest: Buffer.from(digest, 'hex') });
      const clients = stored.list().map(({ name, administer, source, createdAt, expiresAt }) => ({
        name,
        administer,
        token: source ?? null,
        created_at: createdAt === undefined ? null : new Date(createdAt).toISOString(),
        ...(expiresAt !== undefined && { expires_at: new Date(expiresAt).toISOString() }),
      }));
      const isOwner = ({ name }: Described) => !owner || (owner.principal && owner.name === name);
      return {
        tokens: isRequired ? 'required' : 'optional',
        callsNeedToken: isRequired,
        clients: digest !== undefined && !owner ? [] : clients.filter(isOwner),
      };
    },
    create: async (name, digest) => (await stored.create(name, digest)).replaced,
    revoke: async (name, digest) => await stored.revoke(name, digest),
    [Symbol.asyncDispose]: () => stored[Symbol.asyncDispose](),
  };
}

/** Throws HUB_CONFIG_CONFLICT if the config contains the client's token, which `create` cannot replace. */
export function refuseConfigured(name: string, clients: readonly Described[]): void {
  const client = clients.find(one => one['name'] === name);
  if (client?.['token'] === 'config')
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `clients.${name}.token: the config has the token of this client. Write that token into the file of the client, or remove the key from the config`,
    );
}
