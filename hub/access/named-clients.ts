import { type ClientConfig, whyNoClientName } from '#config';
import { HubError, createEmitter, messageOf } from '#core';
import { type Principal, openCaller } from '#policy';
import type {
  CreatedToken,
  EndedClient,
  Entry,
  NamedClient,
  NamedClientsNeeds,
  NamedClientsOptions,
} from './named-clients-types.ts';
import {
  type KnownToken,
  type PresentedToken,
  type TokenTable,
  createToken,
  createTokenTable,
} from './token-table.ts';
import {
  type StoredTokens,
  type TokenLogin,
  isLoginOf,
  noTokens,
  readTokens,
  revokedOf,
  withRevoked,
  withoutExpired,
  writeTokens,
} from './token-file.ts';

export type NamedClients = Awaited<ReturnType<typeof openNamedClients>>;

/** Maximum number of clients with a token that the hub created. */
const maxMade = 1_000;
/** Delay in ms before a failed revocation of an expired token is repeated. `find` refuses the token meanwhile. */
const retryMs = 60_000;

/**
 * Opens the named clients: those of the config, and those with a token that the hub created. Only this process may
 * change the file: it must hold the lock of the data folder. Rejects with HUB_CONFIG_INVALID if the file is unusable.
 */
export async function openNamedClients(options: NamedClientsOptions, needs: NamedClientsNeeds) {
  const { file } = options;
  const { clock, log, config } = needs;
  const ended = createEmitter<EndedClient>();
  const regranted = createEmitter<Principal>();
  let stored = noTokens;
  let entries: ReadonlyMap<string, Entry> = new Map();
  let table: TokenTable | undefined;
  let wasRequired: boolean | undefined;
  let expiry: Disposable | undefined;
  /** The latest change of the file. The next change waits for it. */
  let last: Promise<unknown> = Promise.resolve();

  const configured = (): readonly ClientConfig[] => config().clients ?? [];

  function entryOf(name: string, client: ClientConfig | undefined): Entry {
    const before = entries.get(name);
    const made = stored.made.get(name);
    const digest = client?.tokenDigest ?? made?.digest;
    const isMade = client?.tokenDigest === undefined && made !== undefined;
    const login = isMade ? made.login : undefined;
    // No person entered the token of a login, so such a client never administers, whatever the config says later.
    const administer = client?.administer === true && options.administration === 'on' && !login;
    const isSame = before?.digest === digest && before?.administer === administer;
    return {
      name,
      administer,
      source: isMade ? 'made' : digest === undefined ? undefined : 'config',
      createdAt: isMade ? made.createdAt : undefined,
      ...(login && { expiresAt: login.expiresAt }),
      digest,
      // The same principal object until token or grants change, so that admitting a request allocates nothing.
      principal:
        isSame && before ? before.principal : { kind: 'client', name, grants: { administer } },
      usage: before?.usage ?? { seenAt: 0, calls: 0, refused: 0 },
    };
  }

  /** Returns why a login cannot have this name; undefined if it can. `client`: SHA-256 of the client id, in hex. */
  function whyNotByLogin(name: string, client: string): string | undefined {
    const why = whyNoClientName(name);
    if (why !== undefined) return why;
    const inConfig = configured().find(one => one.name === name);
    if (inConfig && (inConfig.administer || inConfig.heldBack !== undefined))
      return `the config lets ${name} administer the hub, and a login must not grant that`;
    const old = stored.made.get(name);
    return inConfig?.tokenDigest === undefined && (!old || isLoginOf(old, client))
      ? undefined
      : `${name} has a token already`;
  }

  /** Applies the config and the stored tokens, and reports the principals whose tokens or grants have changed. */
  function apply(): void {
    const before = entries;
    const clients = new Map(configured().map(client => [client.name, client]));
    const names = new Set([...clients.keys(), ...stored.made.keys()]);
    entries = new Map(Array.from(names, name => [name, entryOf(name, clients.get(name))]));
    table = createTokenTable([...entries.values()], revokedOf(stored, entries));
    for (const old of before.values()) {
      const now = entries.get(old.name);
      const { principal, digest } = old;
      if (!now) ended.fire({ principal, reason: `the client ${old.name} was removed` });
      else if (digest !== undefined && now.digest !== digest)
        ended.fire({ principal, reason: `the token of ${old.name} was revoked` });
      else if (now.administer !== old.administer) regranted.fire(now.principal);
    }
    const isRequired = config().tokens === 'required';
    if (isRequired && wasRequired === false)
      ended.fire({ principal: openCaller, reason: 'calls need a token from now on' });
    wasRequired = isRequired;
    awaitExpiry();
  }

  /** Starts the timer that revokes the next token to expire. */
  function awaitExpiry(): void {
    expiry?.[Symbol.dispose]();
    expiry = undefined;
    const ends = [...entries.values()].flatMap(({ expiresAt }) => expiresAt ?? []);
    if (ends.length === 0) return;
    const dueMs = Math.min(...ends) - clock.now();
    // A token that is already due could not be stored as revoked.
    expiry = clock.after(dueMs > 0 ? dueMs : retryMs, () => void refresh());
  }

  /** Returns the tokens with the digests of the config. Digests that were removed from it become revoked. */
  function withConfig(tokens: StoredTokens): StoredTokens {
    const now = new Map(
      configured().flatMap(({ name, tokenDigest: digest }) =>
        digest === undefined ? [] : [[name, digest] as const],
      ),
    );
    const isSame =
      now.size === tokens.configured.size &&
      Array.from(now).every(([name, digest]) => tokens.configured.get(name) === digest);
    if (isSame) return tokens;
    const gone = Array.from(tokens.configured, ([name, digest]) => ({ name, digest }));
    return withRevoked({ ...tokens, configured: now }, gone);
  }

  /** Changes the file, then applies the new tokens. Changes run one after the other. */
  function change(edit: (tokens: StoredTokens) => StoredTokens = tokens => tokens): Promise<void> {
    const done = last.then(async () => {
      // Another program may have damaged or removed the file. The active tokens then stay.
      const before = await readTokens(file);
      const after = withConfig(withoutExpired(edit(before), clock.now()));
      if (after !== before) await writeTokens(file, after);
      stored = after;
      apply();
    });
    last = done.catch(() => undefined); // The caller of `change` gets the error.
    return done;
  }

  /** Applies a changed config, and stores its token digests and the expired tokens. */
  async function refresh(): Promise<void> {
    apply();
    try {
      await change();
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the tokens of clients cannot be kept');
    }
  }

  stored = await readTokens(file);
  apply();
  await change();

  return {
    /** True if the config requires a token for calls. */
    get isRequired() {
      return config().tokens === 'required';
    },
    /** Returns the client of a token; undefined for an unknown token. A revoked token has no principal. */
    find(presented: PresentedToken): KnownToken | undefined {
      const known = table?.find(presented);
      const entry = known?.principal && entries.get(known.name);
      if (!entry) return known;
      const now = clock.now();
      // The timer may be late, for example after the machine slept.
      if (entry.expiresAt !== undefined && entry.expiresAt <= now)
        return { name: known.name, principal: undefined };
      entry.usage.seenAt = now;
      return known;
    },
    /** Returns the principal of a client; undefined if no client has that name. */
    principalOf: (name: string): Principal | undefined => entries.get(name)?.principal,
    /** Returns the digest of a client's current token. */
    digestOf: (name: string): string | undefined => entries.get(name)?.digest,
    list: (): readonly NamedClient[] =>
      Array.from(entries.values(), ({ name, administer, source, createdAt, expiresAt, usage }) => ({
        name,
        administer,
        source,
        createdAt,
        ...(expiresAt !== undefined && { expiresAt }),
        seenAt: usage.seenAt === 0 ? undefined : usage.seenAt,
        calls: usage.calls,
        refused: usage.refused,
      })),
    /** Counts an answered call of a client. */
    record({ kind, name }: Principal, isRefused: boolean, at: number): void {
      const usage = kind === 'client' ? entries.get(name)?.usage : undefined;
      if (!usage) return;
      usage.seenAt = at;
      if (isRefused) usage.refused++;
      else usage.calls++;
    },
    /**
     * Creates a token for a client, or stores the digest of a token that the caller created. Replaces the client's
     * token. A token of a login expires, and replaces only a token of the same login. Rejects with HubError, and then
     * changes nothing.
     */
    async create(name: string, given?: string, login?: TokenLogin): Promise<CreatedToken> {
      const why = whyNoClientName(name);
      if (why !== undefined) throw invalid(why);
      const { token, digest } =
        given === undefined ? createToken() : { token: undefined, digest: given };
      const createdAt = clock.now();
      let replaced = false;
      await change(tokens => {
        refuseConfigured(name, configured());
        const refusal = login && whyNotByLogin(name, login.client);
        if (refusal !== undefined) throw new HubError('HUB_CONFIG_CONFLICT', refusal);
        const taken = table?.find({ digest: Buffer.from(digest, 'hex') });
        if (taken) throw invalid(`sha256: this token was made before, for ${taken.name}`);
        const old = tokens.made.get(name);
        if (!old && tokens.made.size >= maxMade)
          throw invalid(`${maxMade} clients have a token. Revoke those that are not used`);
        replaced = old !== undefined;
        const made = new Map(tokens.made).set(name, { digest, createdAt, ...(login && { login }) });
        return withRevoked({ ...tokens, made }, old ? [{ name, digest: old.digest }] : []);
      });
      return { name, token, createdAt, replaced };
    },
    /** Revokes a client's token; with `given`, only the one with this digest. A rejection means: nothing changed. */
    revoke: (name: string, given?: string): Promise<void> =>
      change(tokens => {
        const old = tokens.made.get(name);
        if (!old) {
          refuseConfigured(name, configured());
          throw new HubError('HUB_NAME_UNKNOWN', `no client ${JSON.stringify(name)} has a token`);
        }
        if (given !== undefined && given !== old.digest)
          throw new HubError('HUB_NAME_UNKNOWN', `${name} has another token than this one`);
        const made = new Map(tokens.made);
        made.delete(name);
        return withRevoked({ ...tokens, made }, [{ name, digest: old.digest }]);
      }),
    whyNotByLogin,
    refresh,
    ended: ended.event,
    /** Fires with the new principal of a client whose grants have changed. */
    regranted: regranted.event,
  };
}

function refuseConfigured(name: string, clients: readonly ClientConfig[]): void {
  const isConfigured = clients.some(one => one.name === name && one.tokenDigest !== undefined);
  if (isConfigured)
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `clients.${name}.token: the config has the token of this client. Change it there`,
    );
}

const invalid = (message: string) => new HubError('HUB_REQUEST_INVALID', message);
