import { join } from 'node:path';
import { HubError, isObject, messageOf, tryParseJson } from '#core';
import { readPrivate, writeWhole } from '#store';

/** Stored tokens of clients: only their digests, which are SHA-256 in hex. */
export type StoredTokens = {
  /** Tokens that the hub created for clients, by client name. */
  readonly made: ReadonlyMap<string, MadeToken>;
  /** Digests of the tokens in the last known config, by client name. One that is removed from it is revoked. */
  readonly configured: ReadonlyMap<string, string>;
  /** Revoked tokens, the oldest first. */
  readonly revoked: readonly RevokedToken[];
};

type MadeToken = {
  readonly digest: string;
  /** When the token was created, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Absent: a person created the token. */
  readonly login?: TokenLogin;
};

/** The login that a token comes from. */
export type TokenLogin = {
  /** SHA-256 of the program's client id, in hex. */
  readonly client: string;
  /** When the token expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
};

/** A token that was once valid. The hub refuses it even if it allows calls without a token. */
type RevokedToken = { readonly name: string; readonly digest: string };

/** Name of the file of tokens in the data folder. */
export const clientTokensFile = 'client-tokens.json';

export const noTokens: StoredTokens = { made: new Map(), configured: new Map(), revoked: [] };

/** Maximum size of the file in bytes: twice that of the largest file that the hub writes. */
const maxFileBytes = 2 ** 20;
/** Maximum number of revoked tokens in the file. The oldest are dropped. */
const maxRevoked = 1_000;
const digestPattern = /^[0-9a-f]{64}$/;
const remedy =
  'Restore it from a backup, or delete it and make the tokens again with "agenthub token create NAME"';

/** Reads the tokens. Returns none for a missing file. Rejects with HUB_CONFIG_INVALID for a damaged file. */
export async function readTokens(file: string): Promise<StoredTokens> {
  let text: string | undefined;
  try {
    text = await readPrivate(file, { maxBytes: maxFileBytes, remedy });
  } catch (cause) {
    throw unusable(messageOf(cause), cause);
  }
  if (text === undefined) return noTokens;
  const stored = parseTokens(tryParseJson(text));
  if (!stored) throw unusable(`${file} does not hold the tokens of clients. ${remedy}`);
  return stored;
}

/**
 * Returns the names of the clients for which the hub made a token, from the file in a data folder. Returns none for a
 * missing or damaged file. Never rejects.
 */
export async function readTokenNames(dataDir: string): Promise<readonly string[]> {
  try {
    const { made } = await readTokens(join(dataDir, clientTokensFile));
    return [...made.keys()];
  } catch {
    return []; // The file is damaged, which the start of the hub reports.
  }
}

export async function writeTokens(file: string, stored: StoredTokens): Promise<void> {
  const made = Object.fromEntries(
    Array.from(stored.made, ([name, { digest, createdAt, login }]) => [
      name,
      {
        sha256: digest,
        created_at: new Date(createdAt).toISOString(),
        ...(login && {
          login: { client: login.client, expires_at: new Date(login.expiresAt).toISOString() },
        }),
      },
    ]),
  );
  const configured = Object.fromEntries(stored.configured);
  const revoked = stored.revoked.map(({ name, digest }) => ({ name, sha256: digest }));
  const text = JSON.stringify({ made, configured, revoked }, undefined, 1);
  try {
    await writeWhole(file, `${text}\n`);
  } catch (cause) {
    const message = `${file} cannot be written (${messageOf(cause)}), so no token was changed. Make room, or let the hub write it`;
    throw new HubError('HUB_CONFIG_UNWRITABLE', message, { cause });
  }
}

/** Adds revoked tokens, except those that are valid: of the config, or created by the hub. */
export function withRevoked(stored: StoredTokens, revoked: readonly RevokedToken[]): StoredTokens {
  const made = Array.from(stored.made.values(), ({ digest }) => digest);
  const valid = new Set([...stored.configured.values(), ...made]);
  const all = [...stored.revoked, ...revoked].filter(({ digest }) => !valid.has(digest));
  const unique = new Map(all.map(one => [one.digest, one]));
  return { ...stored, revoked: [...unique.values()].slice(-maxRevoked) };
}

/** True if a token comes from a login of the program with this client id. `client`: SHA-256 of the client id. */
export const isLoginOf = ({ login }: MadeToken, client: string): boolean =>
  login?.client === client;

/** Moves expired tokens of logins to the revoked tokens. */
export function withoutExpired(stored: StoredTokens, now: number): StoredTokens {
  const due = Array.from(stored.made).filter(([, { login }]) => login && login.expiresAt <= now);
  if (due.length === 0) return stored;
  const made = new Map(stored.made);
  for (const [name] of due) made.delete(name);
  const gone = due.map(([name, { digest }]) => ({ name, digest }));
  return withRevoked({ ...stored, made }, gone);
}

/** Returns the revoked tokens, those of the last known config, and created tokens that the config replaces. */
export const revokedOf = (
  { revoked, configured, made }: StoredTokens,
  entries: ReadonlyMap<string, { readonly digest: string | undefined }>,
) => [
  ...revoked,
  ...Array.from(configured, ([name, digest]) => ({ name, digest })),
  ...Array.from(made, ([name, { digest }]) => ({ name, digest })).filter(
    ({ name, digest }) => entries.get(name)?.digest !== digest,
  ),
];

const unusable = (message: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', `DATA_DIR: ${message}`, { cause });

function parseTokens(value: unknown): StoredTokens | undefined {
  if (!isObject(value)) return undefined;
  const { made, configured, revoked } = value;
  if (!isObject(made) || !isObject(configured) || !Array.isArray(revoked)) return undefined;
  const tokens = Object.entries(made).map(([name, token]) => [name, parseMade(token)] as const);
  const digests = Object.entries(configured).flatMap(([name, digest]) =>
    isDigest(digest) ? [[name, digest] as const] : [],
  );
  const gone = revoked.flatMap(one => parseRevoked(one) ?? []);
  const known = tokens.flatMap(([name, token]) => (token ? [[name, token] as const] : []));
  const isWhole =
    known.length === tokens.length &&
    digests.length === Object.keys(configured).length &&
    gone.length === revoked.length;
  return isWhole
    ? { made: new Map(known), configured: new Map(digests), revoked: gone }
    : undefined;
}

function parseMade(value: unknown): MadeToken | undefined {
  const { sha256: digest, created_at: created, login } = isObject(value) ? value : {};
  const createdAt = timeIn(created);
  if (!isDigest(digest) || createdAt === undefined) return undefined;
  if (login === undefined) return { digest, createdAt };
  const { client, expires_at: expires } = isObject(login) ? login : {};
  const expiresAt = timeIn(expires);
  return isDigest(client) && expiresAt !== undefined
    ? { digest, createdAt, login: { client, expiresAt } }
    : undefined;
}

function timeIn(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

function parseRevoked(value: unknown): RevokedToken | undefined {
  const { name, sha256: digest } = isObject(value) ? value : {};
  return typeof name === 'string' && isDigest(digest) ? { name, digest } : undefined;
}

const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && digestPattern.test(value);
