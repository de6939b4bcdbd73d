import { randomBytes } from 'node:crypto';
import { HubError, createEmitter, messageOf, unlessAborted } from '#core';
import {
  type Authorization,
  beginAuthorization,
  isClientRefused,
  revokeTokens,
} from './authorization.ts';
import { createAddressCheck, createBoundedFetch } from './bounded-fetch.ts';
import type { AccessTokens, LoginNeeds, LoginStatus, LoginTarget } from './login-types.ts';
import { type ServerLogin, createServerLogin, shortened } from './server-login.ts';

/** Path of the dashboard's page that finishes logins. */
const callbackPath = '/dashboard/oauth/callback';
/** Time in ms after which a login that was not finished in the browser fails. */
const waitMs = 600_000;

type Pending = {
  readonly server: string;
  readonly state: string;
  readonly authorization: Authorization;
  readonly outcome: PromiseWithResolvers<void>;
  readonly timer: Disposable;
};

/** The logins to remote servers (MCP 2026-07-28, authorization). */
export type ServerLogins = ReturnType<typeof createLogins>;

/** Creates the logins of a hub. Each server has at most one waiting login; a new one replaces it. */
export function createLogins(needs: LoginNeeds) {
  const { clock, log, audit } = needs;
  const loggedIn = createEmitter<string>();
  const changed = createEmitter<string>();
  const servers = new Map<string, ServerLogin>();
  const pending = new Map<string, Pending>();
  /** Logins whose authorization code is being exchanged. */
  const finishing = new Set<Pending>();
  const finishingOf = (server: string) => [...finishing].filter(one => one.server === server);

  function loginOf(server: string): ServerLogin {
    const known = servers.get(server);
    if (known) return known;
    const target = () => needs.targetOf(server);
    const login = createServerLogin(server, {
      ...needs,
      target,
      changed: () => changed.fire(server),
    });
    servers.set(server, login);
    return login;
  }

  function targetOf(server: string): LoginTarget {
    const target = needs.targetOf(server);
    if (target) return target;
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${server} has no "url" in the config, and only servers with one have logins. Write keys of other servers into "env", as \${secret:NAME}`,
      { data: { server } },
    );
  }

  function end(one: Pending, error?: HubError): void {
    if (pending.get(one.server) === one) pending.delete(one.server);
    finishing.delete(one);
    one.timer[Symbol.dispose]();
    if (error) one.outcome.reject(error);
    else one.outcome.resolve();
    changed.fire(one.server);
  }

  function endAll(server: string, error: HubError): void {
    const waiting = pending.get(server);
    for (const one of [...(waiting ? [waiting] : []), ...finishingOf(server)]) end(one, error);
  }

  async function prepare(server: string, state: string): Promise<Authorization> {
    const target = targetOf(server);
    const hubUrl = needs.hubUrl();
    if (hubUrl === undefined)
      throw failed(server, 'this hub does not listen, so that no browser can return to it');
    const login = loginOf(server);
    const checkAddress = createAddressCheck(target);
    // Checked because the tokens of the login are sent to this URL.
    await checkAddress(new URL(target.url));
    const known = await login.current();
    const { resourceMetadataUrl, scope } = login.challenge;
    // If a request lacked scopes, the new login also requests those that were granted before.
    const granted = login.missing === undefined ? undefined : known?.tokens?.scope;
    return await beginAuthorization({
      target,
      redirectUrl: `${hubUrl}${callbackPath}`,
      state,
      resourceMetadataUrl,
      scope: unionOf(granted, scope, target.settings.scopes?.join(' ')),
      known,
      fetch: createBoundedFetch(target, { clock }),
      checkAddress,
    }).catch((cause: unknown) => {
      throw failed(server, messageOf(cause), cause);
    });
  }

  return {
    /** Fires with the name of a server after a login to it. */
    loggedIn: loggedIn.event,
    /** Fires with the name of a server when the status of its login changes. */
    changed: changed.event,
    tokensOf: (server: string): AccessTokens => loginOf(server).tokens,
    /**
     * Starts a login: finds the authorization server and registers the hub there. Resolves with its URL for the user's
     * browser. Rejects with HUB_LOGIN_FAILED, or with HUB_REQUEST_INVALID for a server without a URL.
     */
    async begin(server: string) {
      const state = randomBytes(32).toString('base64url');
      const authorization = await prepare(server, state);
      // Throws if the server was removed meanwhile.
      targetOf(server);
      const before = pending.get(server);
      if (before) end(before, failed(server, 'another login was begun'));
      const outcome = Promise.withResolvers<void>();
      outcome.promise.catch(() => undefined); // Callers of `done` get the error.
      const timer = clock.after(waitMs, () =>
        end(begun, failed(server, `nobody finished it within ${waitMs / 60_000} minutes`)),
      );
      const begun: Pending = { server, state, authorization, outcome, timer };
      pending.set(server, begun);
      changed.fire(server);
      return { url: authorization.url, expiresInMs: waitMs };
    },
    /** Resolves when the latest login to a server is done. Rejects with HUB_LOGIN_FAILED, or when `signal` aborts. */
    async done(server: string, signal: AbortSignal): Promise<void> {
      const one = pending.get(server) ?? finishingOf(server).at(-1);
      if (one) return await unlessAborted(one.outcome.promise, signal);
      const login = await loginOf(server).current();
      if (!login?.tokens) throw failed(server, 'no login waits');
    },
    /** Finishes a login with the query of the redirect. Resolves with the server. Rejects with HUB_LOGIN_FAILED. */
    async finish(answer: URLSearchParams): Promise<string> {
      const state = answer.get('state') ?? '';
      const one = [...pending.values()].find(({ state: own }) => own === state);
      if (!one)
        throw new HubError(
          'HUB_LOGIN_FAILED',
          'this login is not known: it was used already, replaced by another one, or is older than ten minutes. Begin a new one',
        );
      const { server, authorization } = one;
      // A state is valid once, whatever the result.
      pending.delete(server);
      one.timer[Symbol.dispose]();
      finishing.add(one);
      try {
        const login = await authorization.finish(codeIn(answer), answer.get('iss') ?? undefined);
        if (!finishing.has(one)) {
          await revoked(server, login);
          throw loggedOut(server);
        }
        await loginOf(server).enter(login);
      } catch (cause) {
        const error = failed(server, messageOf(cause), cause);
        audit({ action: 'oauth_login', server, outcome: error.code });
        if (isClientRefused(cause)) await forgetClient(server);
        end(one, error);
        throw error;
      }
      audit({ action: 'oauth_login', server, outcome: 'ok' });
      log.info({ server }, 'logged in');
      end(one);
      loggedIn.fire(server);
      return server;
    },
    /**
     * Deletes and revokes the tokens, and ends logins in progress. `isRevoked`: false if the revocation failed. Rejects
     * with HUB_REQUEST_INVALID for a server without a URL.
     */
    async logout(server: string) {
      targetOf(server);
      endAll(server, loggedOut(server));
      const login = loginOf(server);
      const stored = await login.current();
      // Deleted before it is revoked, so that a login that finishes meanwhile is not deleted.
      await login.forget();
      const isRevoked = await revoked(server, stored);
      return { wasLoggedIn: stored?.tokens !== undefined, isRevoked };
    },
    /**
     * Deletes and revokes the login of a removed server, and ends logins in progress. Resolves with undefined if none
     * was stored. Rejects if it cannot be deleted.
     */
    async remove(server: string): Promise<{ readonly isRevoked: boolean } | undefined> {
      endAll(server, failed(server, 'the server was removed'));
      const login = loginOf(server);
      const stored = await login.stored();
      await login.forget();
      if (!stored) return undefined;
      audit({ action: 'oauth_logout', server, outcome: 'ok' });
      return { isRevoked: await revoked(server, stored) };
    },
    async status(server: string): Promise<LoginStatus> {
      const login = loginOf(server);
      const stored = await login.current();
      const isPending = pending.has(server) || finishingOf(server).length > 0;
      const { missing } = login;
      if (!stored?.tokens) return { state: 'none', isPending };
      const { tokens, issuer, expiresAt } = stored;
      return {
        state: 'logged_in',
        isPending,
        issuer,
        ...(tokens.scope !== undefined && { scope: tokens.scope }),
        ...(expiresAt !== undefined && { expiresAt }),
        isRefreshable: tokens.refresh_token !== undefined,
        ...(missing !== undefined && { missingScope: missing }),
      };
    },
  };

  /** Deletes a registration. Never rejects, so that callers of `done` get the error of the login. */
  async function forgetClient(server: string): Promise<void> {
    try {
      await loginOf(server).forget();
    } catch (error) {
      const fields = { server, error: messageOf(error) };
      log.warn(fields, 'the registration that was refused could not be removed');
    }
  }

  async function revoked(
    server: string,
    stored: Awaited<ReturnType<ServerLogin['current']>>,
  ): Promise<boolean> {
    if (!stored?.tokens) return false;
    const home = { name: server, url: stored.url };
    try {
      return await revokeTokens(stored, createBoundedFetch(home, { clock }));
    } catch (error) {
      const fields = { server, error: messageOf(error) };
      log.warn(fields, 'the tokens of the server were forgotten, but could not be revoked');
      return false;
    }
  }
}

const failed = (server: string, why: string, cause?: unknown) =>
  cause instanceof HubError && cause.code === 'HUB_LOGIN_FAILED'
    ? cause
    : new HubError('HUB_LOGIN_FAILED', `the login to ${server} failed: ${shortened(why)}`, {
        cause,
        data: { server },
      });

const loggedOut = (server: string) => failed(server, 'it was logged out');

function codeIn(answer: URLSearchParams): string {
  const code = answer.get('code');
  const error = answer.get('error');
  if (error === null && code !== null && code !== '') return code;
  const described = answer.get('error_description');
  const why = [error ?? 'no code', described].filter(Boolean).join(': ');
  throw new Error(`the authorization server answered ${why}`);
}

function unionOf(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = scopes.flatMap(scope => scope?.split(' ') ?? []).filter(scope => scope !== '');
  return all.length === 0 ? undefined : [...new Set(all)].join(' ');
}
