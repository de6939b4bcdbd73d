import { createToken, digestOf } from '#access';
import type { Clients, ConnectTarget } from '#clients';
import { HubError, messageOf } from '#core';
import { type ClientTokens, ofHub, openClientTokens, refuseConfigured } from './client-tokens.ts';
import type { Run } from './command.ts';
import { createHubClient } from './hub-client.ts';
import type { HubPlace } from './needs.ts';

/** Token of one client, which `connect` writes to its file in place of a token that all clients share. */
export type OwnToken = {
  readonly name: string;
  readonly token: string;
  /** True if the token replaces another one of the same name, which then stops working. */
  readonly replaces: boolean;
  /** Registers the token with the hub. Does nothing if the hub knows the token. */
  readonly register: () => Promise<void>;
};

/** Warns that a token is replaced, because other files of the client may contain it. */
export function warnOfReplaced(own: OwnToken | undefined, { remark }: Pick<Run, 'remark'>): void {
  if (own?.replaces)
    remark(
      'warning',
      `the hub knows a client ${own.name} already. This replaces its token: other files with that token stop working.`,
    );
}

const hexOf = (token: string) => digestOf(token).toString('hex');

/**
 * Returns the token for a client's file: the one in the file, or a new one. Undefined if the client needs none, because
 * calls are open or all clients have ROUTER_TOKEN in their environment. Rejects with HubError if `--token` asks for a
 * token that cannot be created.
 */
export async function findOwnToken(
  target: ConnectTarget,
  place: HubPlace,
  all: Clients,
  run: Run,
): Promise<OwnToken | undefined> {
  const isWanted = run.values['token'] === true;
  const openTokens = async () =>
    isWanted ? await openClientTokens(place, run) : ofHub(createHubClient(place, run));
  await using tokens = await openTokens();
  const state = await listOf(tokens, isWanted, run);
  if (!state) return undefined;
  const { tokens: setting, callsNeedToken, clients } = state;
  const isNeeded =
    setting !== undefined &&
    (setting === 'required' || (callsNeedToken && place.token === undefined));
  if (!isWanted && !isNeeded) return undefined;
  const name = all.tokenName(target);
  refuseConfigured(name, clients);
  const known = await findKnown(target, place, all, tokens);
  if (known !== undefined) return { name, token: known, replaces: false, register: async () => {} };
  const { token, digest } = createToken();
  return {
    name,
    token,
    replaces: clients.some(one => one['name'] === name && one['token'] === 'made'),
    async register() {
      await using open = await openTokens();
      await open.create(name, digest);
    },
  };
}

/**
 * Returns the clients and token settings of the hub. If the hub does not run or belongs to another user, rejects with
 * `--token`, and returns undefined without it.
 */
async function listOf(tokens: ClientTokens, isWanted: boolean, { signal }: Run) {
  try {
    return await tokens.list();
  } catch (error) {
    signal.throwIfAborted();
    if (isWanted) throw error;
    return undefined; // The entry gets no token. If the hub needs one, its refusal contains the remedy.
  }
}

/** Returns a token of this client in its file that the hub still knows. */
async function findKnown(
  target: ConnectTarget,
  place: HubPlace,
  all: Clients,
  tokens: ClientTokens,
): Promise<string | undefined> {
  const name = all.tokenName(target);
  for (const token of new Set((await all.tokens(target, place)).values())) {
    const { clients } = await tokens.list(hexOf(token));
    if (clients.some(one => one['name'] === name)) return token;
  }
  return undefined;
}

/**
 * Revokes the token of an entry that `disconnect` has removed, unless another entry of the file uses it too. `before`
 * has the tokens in the file before the removal. Only warns if that fails, because the file is already written.
 */
export async function revokeRemoved(
  { name: entry }: { readonly name: string },
  before: ReadonlyMap<string, string>,
  place: HubPlace,
  run: Run,
): Promise<void> {
  const token = before.get(entry);
  const isShared = Array.from(before).some(([other, its]) => other !== entry && its === token);
  if (token === undefined || token === place.token || isShared) return;
  try {
    await using tokens = await openClientTokens(place, run);
    const { clients } = await tokens.list(hexOf(token));
    const [owner] = clients;
    if (owner?.['token'] !== 'made') return;
    await tokens.revoke(String(owner['name']), hexOf(token));
    if (!run.isJson) run.out(`The token of ${String(owner['name'])} is revoked.`);
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof HubError)) throw error;
    run.remark(
      'warning',
      `the token that was in the file still works: ${messageOf(error)}. Revoke it with "agenthub token revoke", if it is of this hub`,
    );
  }
}
