import { HubError, messageOf } from '#core';
import { refreshTokens, revokeTokens } from './authorization.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import type { AccessTokens, Challenge, LoginNeeds, LoginTarget } from './login-types.ts';
import {
  type StoredLogin,
  loginSecretOf,
  loginText,
  parseLogin,
  secretsOf,
} from './stored-login.ts';

/** Time before its expiry at which a token is refreshed, in ms; at most a tenth of its lifetime. */
const earlyMs = 60_000;
/** Minimum interval between refresh attempts while the authorization server does not respond, in ms. */
const retryMs = 5_000;

/** Maximum lifetime of a token, in ms: ten years. A later expiry could exceed the range of dates. */
const maxLifetimeMs = 315_360_000_000;

type Needs = Pick<LoginNeeds, 'clock' | 'log' | 'store' | 'audit'> & {
  readonly target: () => LoginTarget | undefined;
  /** Called when the status of the login has changed. */
  readonly changed: () => void;
};

export type ServerLogin = ReturnType<typeof createServerLogin>;

export function createServerLogin(server: string, needs: Needs) {
  const { clock, log, store, audit, target, changed } = needs;
  const secretName = loginSecretOf(server);
  let reading: Promise<StoredLogin | undefined> | undefined;
  let refreshing: Promise<StoredLogin> | undefined;
  /** The running write of a login or logout. Never rejects. */
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

  /** Resolves with the stored login, which may be for an earlier URL of the server. */
  async function stored(): Promise<StoredLogin | undefined> {
    reading ??= read();
    return await reading.catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
  }

  /** Resolves with the login for the server's current URL, as tokens must not be sent to another one. */
  async function current(): Promise<StoredLogin | undefined> {
    const login = await stored();
    return login?.url === target()?.url ? login : undefined;
  }

  async function keep(login: StoredLogin | undefined): Promise<void> {
    await reading?.catch(() => undefined); // The first caller of `read` got its error. Its text is replaced here.
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

  /** Like `keep`, but restores the previous login, which may be newer than the stored one, if the write fails. */
  async function change(login: StoredLogin | undefined): Promise<void> {
    await reading?.catch(() => undefined); // As in `keep`: the first caller of `read` got the error.
    const before = reading;
    const after = Promise.resolve(login);
    reading = after;
    const written = write(login).catch((error: unknown) => {
      if (reading === after) reading = before;
      throw error;
    });
    changing = written.catch(() => undefined); // The caller of `change` gets the error.
    await written;
  }

  /** Deletes the tokens. Keeps the registration for the next login, unless it was refused. */
  async function dropTokens(login: StoredLogin, isClientRefused = false): Promise<void> {
    const { tokens: _, expiresAt: _at, lifetimeMs: _ms, ...rest } = login;
    await keep(isClientRefused ? undefined : rest);
  }

  /** Stores refreshed tokens. If that fails, keeps them in memory: the old refresh token may already be used up. */
  async function keepRefreshed(login: StoredLogin): Promise<void> {
    try {
      await keep(login);
    } catch (error) {
      const fields = { server, error: messageOf(error) };
      log.error(
        fields,
        'the refreshed tokens of the server could not be stored, and are lost when this hub ends',
      );
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
      log.warn(
        { server, error: messageOf(cause) },
        'the access token of the server could not be refreshed',
      );
      throw unanswered(messageOf(cause), cause);
    }
    await changing;
    // A person logged out or in meanwhile. That login stays. If the entry changed, the login is kept for its old URL.
    if ((await stored()) !== login) {
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
    log.debug({ server }, 'the access token of the server was refreshed');
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
        // The token is still valid by the hub's clock.
        if (isOut && now < expiresAt) return login.tokens.access_token;
        throw error;
      }
    },
    async renew(refused, heard) {
      challenge = heard;
      const login = await current();
      const token = login?.tokens?.access_token;
      // Another caller has refreshed the token meanwhile.
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
    stored,
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

/** Adds the expiry, counted from the time of the response, as the authorization server's clock may differ. */
function withExpiry(login: StoredLogin, now: number): StoredLogin {
  const { expiresAt: _at, lifetimeMs: _ms, ...rest } = login;
  const seconds = Number(login.tokens?.['expires_in']);
  if (!(seconds > 0)) return rest;
  const lifetimeMs = Math.min(seconds * 1000, maxLifetimeMs);
  return { ...rest, expiresAt: now + lifetimeMs, lifetimeMs };
}

const maxQuoted = 300;

/** Shortens a text of another party for an error message, to one line without control characters. */
export function shortened(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > maxQuoted ? `${line.slice(0, maxQuoted)}...` : line;
}
