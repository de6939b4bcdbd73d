import { createToken, digestOf } from '#access';
import type { Clients, ConnectTarget } from '#clients';
import { HubError, messageOf } from '#core';
import { type ClientTokens, ofHub, openClientTokens, refuseConfigured } from './client-tokens.ts';
import type { Run } from './command.ts';
import { createHubClient } from './hub-client.ts';
import type { HubPlace } from './needs.ts';

/** The token of one client, which `connect` writes into its file instead of one that all clients have. */
export type OwnToken = {
  /** The name by which the hub knows the client. */
  readonly name: string;
  readonly token: string;
  /** True if another token of that name works no longer afterwards. */
  readonly replaces: boolean;
  /** Makes the hub know the token. Does nothing for one that it knows. */
  readonly register: () => Promise<void>;
};

/** Warns before a token is replaced, because other files of the client may have it. */
export function warnOfReplaced(own: OwnToken | undefined, { remark }: Pick<Run, 'remark'>): void {
  if (own?.replaces)
    remark(
      'warning',
      `the hub knows a client ${own.name} already. This replaces its token: other files with that token stop working.`,
    );
}

const hexOf = (token: string) => digestOf(token).toString('hex');

/**
 * The token that the file of a client gets: the one that it has, or a new one. Undefined if the hub needs none of the
 * client: its calls are open, or all clients have ROUTER_TOKEN in their environment. Rejects with HubError if `--token`
 * asks for one that cannot be made.
 */
export async function findOwnToken(
  target: ConnectTarget,
  place: HubPlace,
  all: Clients,
  run: Run,
): Promise<OwnToken | undefined> {
  const isWanted = run.values['token'] === true;
  await using tokens = isWanted
    ? await openClientTokens(place, run)
    : ofHub(createHubClient(place, run));
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
      await using open = isWanted
        ? await openClientTokens(place, run)
        : ofHub(createHubClient(place, run));
      await open.create(name, digest);
    },
  };
}

/** The state of the hub; undefined if it does not run or is of another user, and the token is not asked for. */
async function listOf(tokens: ClientTokens, isWanted: boolean, { signal }: Run) {
  try {
    return await tokens.list();
  } catch (error) {
    signal.throwIfAborted();
    if (isWanted) throw error;
    return undefined; // The entry is written without a token. If the hub needs one, its refusal says what to do.
  }
}

/** A token of this client in its file, if the hub still knows it. */
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
 * Revokes the token of an entry that `disconnect` has removed, unless another entry of the file has it too. `before`: the
 * tokens in the file before. Tells the user if that fails, because the file is written already.
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
