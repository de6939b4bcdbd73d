import { HubError, messageOf } from '#core';
import { refreshTokens, revokeTokens } from './authorization.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import type { AccessTokens, Challenge, LoginNeeds, LoginTarget } from './login-types.ts';
import { type StoredLogin, loginText, parseLogin, secretsOf } from './stored-login.ts';

/** A token is refreshed so long before it expires, but at most a tenth of its lifetime before. In ms. */
const earlyMs = 60_000;
/** Minimum interval between attempts to refresh while the authorization server does not answer, in ms. */
const retryMs = 5_000;

/** Longest lifetime that is counted, in ms: ten years. Later times would be no dates. */
const maxLifetimeMs = 315_360_000_000;

type Needs = Pick<LoginNeeds, 'clock' | 'log' | 'store' | 'audit'> & {
  readonly target: () => LoginTarget | undefined;
  /** Called when the status has changed. */
  readonly changed: () => void;
};

/** The login to one server. */
export type ServerLogin = ReturnType<typeof createServerLogin>;

export function createServerLogin(server: string, needs: Needs) {
  const { clock, log, store, audit, target, changed } = needs;
  const secretName = `.oauth-${server}`;
  let reading: Promise<StoredLogin | undefined> | undefined;
  let refreshing: Promise<StoredLogin> | undefined;
  /** The write of a login or logout in progress. Never rejects. */
  let changing: Promise<unknown> = Promise.resolve();
  let retryAtMs = 0;
  let challenge: Challenge = {};
  let missing: string | undefined;

  const remedy = `Run agenthub login ${server}, or use the button on its page of the dashboard`;
  const required = (why: string, data: object = {}) =>
    new HubError('HUB_LOGIN_REQUIRED', `${server} ${why}. ${remedy}`, {
      data: { server, retryable: false, status: 401, ...data },
    });

  async function read(): Promise<StoredLogin | undefined> {
    const text = await store.read(secretName);
    const login = text === undefined ? undefined : parseLogin(text);
    if (login) store.redact(server, secretsOf(login));
    return login;
  }

  /** The login for the current URL: tokens are for one server only. */
  async function current(): Promise<StoredLogin | undefined> {
    reading ??= read();
    const login = await reading.catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    return login?.url === target()?.url ? login : undefined;
  }

  async function keep(login: StoredLogin | undefined): Promise<void> {
    await reading?.catch(() => undefined); // The read before has told its own caller; its text is replaced.
    reading = Promise.resolve(login);
    await write(login);
  }

  async function write(login: StoredLogin | undefined): Promise<void> {
    if (login) {
      store.redact(server, secretsOf(login));
      await store.write(secretName, loginText(login));
    } else await store.remove(secretName);
    changed();
  }

  /** Like `keep`, but restores the previous login if the write fails. That one may be newer than the stored one. */
  async function change(login: StoredLogin | undefined): Promise<void> {
    await reading?.catch(() => undefined); // As above.
    const before = reading;
    const after = Promise.resolve(login);
    reading = after;
    const written = write(login).catch((error: unknown) => {
      if (reading === after) reading = before;
      throw error;
    });
    changing = written.catch(() => undefined); // The caller gets the error.
    await written;
  }

  /** Keeps the registration, unless it is refused: the next login uses it again. */
  async function dropTokens(login: StoredLogin, isClientRefused = false): Promise<void> {
    const { tokens: _, expiresAt: _at, lifetimeMs: _ms, ...rest } = login;
    await keep(isClientRefused ? undefined : rest);
  }

  /** Keeps refreshed tokens in memory when they cannot be stored: the old refresh token may be spent. */
  async function keepRefreshed(login: StoredLogin): Promise<void> {
    try {
      await keep(login);
    } catch (error) {
      const fields = { server, error: messageOf(error) };
      log.error(fields, 'its refreshed tokens could not be stored, and end with this hub');
    }
  }

  const refresh = (login: StoredLogin): Promise<StoredLogin> =>
    (refreshing ??= refreshOnce(login).finally(() => (refreshing = undefined)));

  async function refreshOnce(login: StoredLogin): Promise<StoredLogin> {
    const place = target();
    if (!place) throw required('was removed from the config');
    if (clock.monotonic() < retryAtMs) throw unanswered('it did not answer a moment ago');
    let refreshed: Awaited<ReturnType<typeof refreshTokens>>;
    try {
      refreshed = await refreshTokens(login, createBoundedFetch(place, { clock }));
    } catch (cause) {
      retryAtMs = clock.monotonic() + retryMs;
      audit({ action: 'oauth_refresh', server, outcome: 'HUB_REMOTE_UNREACHABLE' });
      log.warn({ server, error: messageOf(cause) }, 'its access token could not be refreshed');
      throw unanswered(messageOf(cause), cause);
    }
    await changing;
    // Meanwhile somebody logged out or in again: that stays.
    if ((await current()) !== login) {
      const now = await current();
      if (now?.tokens) return now;
      if (refreshed.kind === 'tokens') await revoke({ ...login, tokens: refreshed.tokens }, place);
      throw required('wants a login');
    }
    if (refreshed.kind === 'ended') {
      await dropTokens(login, refreshed.isClientRefused);
      audit({ action: 'oauth_refresh', server, outcome: 'HUB_LOGIN_REQUIRED' });
      throw required(`needs a new login (${shortened(refreshed.why)})`);
    }
    const renewed = withExpiry({ ...login, tokens: refreshed.tokens }, clock.now());
    await keepRefreshed(renewed);
    log.debug({ server }, 'its access token was refreshed');
    return renewed;
  }

  async function revoke(login: StoredLogin, place: LoginTarget): Promise<void> {
    await revokeTokens(login, createBoundedFetch(place, { clock })).catch((error: unknown) =>
      log.warn({ server, error: messageOf(error) }, 'tokens of an ended login were not revoked'),
    );
  }

  const unanswered = (why: string, cause?: unknown) =>
    new HubError(
      'HUB_REMOTE_UNREACHABLE',
      `${server}: its authorization server gives no new access token: ${shortened(why)}`,
      { cause, data: { server, retryable: true } },
    );

  const tokens: AccessTokens = {
    async current() {
      const login = await current();
      if (!login?.tokens) return undefined;
      const { expiresAt, lifetimeMs = 0 } = login;
      const now = clock.now();
      const isEarly =
        expiresAt !== undefined && now >= expiresAt - Math.min(earlyMs, lifetimeMs / 10);
      if (!isEarly || login.tokens.refresh_token === undefined) return login.tokens.access_token;
      try {
        return (await refresh(login)).tokens?.access_token;
      } catch (error) {
        const isOut = error instanceof HubError && error.code === 'HUB_REMOTE_UNREACHABLE';
        // It is still valid, as far as this clock knows.
        if (isOut && now < expiresAt) return login.tokens.access_token;
        throw error;
      }
    },
    async renew(refused, heard) {
      challenge = heard;
      const login = await current();
      const token = login?.tokens?.access_token;
      // Another caller has renewed it meanwhile.
      if (token !== undefined && token !== refused) return token;
      if (!login || token === undefined) throw required('wants a login');
      if (login.tokens?.refresh_token === undefined) throw required('refuses its access token');
      const renewed = (await refresh(login)).tokens?.access_token;
      if (renewed === undefined) throw required('wants a login');
      return renewed;
    },
    refused(heard) {
      challenge = heard;
      return required('refuses the access token of its own authorization server');
    },
    missingScope(heard) {
      challenge = heard;
      missing = heard.scope;
      changed();
      const scopes = heard.scope === undefined ? '' : ` (${shortened(heard.scope)})`;
      return required(`wants more access for this call${scopes}`, {
        status: 403,
        ...(heard.scope !== undefined && { scope: shortened(heard.scope) }),
      });
    },
  };

  return {
    tokens,
    current,
    get challenge(): Challenge {
      return challenge;
    },
    get missing(): string | undefined {
      return missing;
    },
    /** Stores a new login. */
    async enter(login: StoredLogin): Promise<void> {
      await change(withExpiry(login, clock.now()));
      missing = undefined;
      challenge = {};
      retryAtMs = 0;
    },
    forget: () => change(undefined),
  };
}

/** Counts from the response: the clock of the authorization server does not matter. */
function withExpiry(login: StoredLogin, now: number): StoredLogin {
  const { expiresAt: _at, lifetimeMs: _ms, ...rest } = login;
  const seconds = Number(login.tokens?.['expires_in']);
  if (!(seconds > 0)) return rest;
  const lifetimeMs = Math.min(seconds * 1000, maxLifetimeMs);
  return { ...rest, expiresAt: now + lifetimeMs, lifetimeMs };
}

const maxQuoted = 300;

/** A text of another party, for a message. */
export function shortened(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > maxQuoted ? `${line.slice(0, maxQuoted)}...` : line;
}
