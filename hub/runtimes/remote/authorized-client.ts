import type { IncomingMessage } from 'node:http';
import { HubError } from '#core';
import type { AccessTokens, Challenge } from '#oauth';
import type { HttpClient } from './http-client.ts';

/** Maximum length of a WWW-Authenticate header that is read. */
const maxChallengeLength = 8_192;

/**
 * Creates a client that sends the access token of a server. If the server answers 401, the request is sent once more
 * with a renewed token. Rejects with HUB_LOGIN_REQUIRED if that does not help, or if a scope is missing.
 */
export function authorizedClient(http: HttpClient, tokens: AccessTokens): HttpClient {
  return {
    async request(asked) {
      const send = async (token: string | undefined) =>
        await http.request(
          token === undefined
            ? asked
            : { ...asked, headers: { ...asked.headers, authorization: `Bearer ${token}` } },
        );
      const token = await tokens.current();
      const first = await send(token);
      if (first.statusCode !== 401) return withScopes(first, tokens);
      first.destroy();
      const second = await send(await tokens.renew(token, challengeOf(first)));
      if (second.statusCode !== 401) return withScopes(second, tokens);
      second.destroy();
      throw tokens.refused(challengeOf(second));
    },
  };
}

export const isLoginRequired = (error: unknown): error is HubError =>
  error instanceof HubError && error.code === 'HUB_LOGIN_REQUIRED';

/** True if all requests fail until a login. A call that lacks a scope does not affect others. */
export const endsConnection = (error: unknown): boolean =>
  isLoginRequired(error) && error.data['status'] === 401;

/** Throws HUB_LOGIN_REQUIRED for a response that asks for more scopes (RFC 6750, 3.1). */
function withScopes(response: IncomingMessage, tokens: AccessTokens): IncomingMessage {
  if (response.statusCode !== 403) return response;
  if (!/\berror="?insufficient_scope\b/.test(headerOf(response))) return response;
  response.destroy();
  throw tokens.missingScope(challengeOf(response));
}

const headerOf = ({ headers }: IncomingMessage) =>
  (headers['www-authenticate'] ?? '').slice(0, maxChallengeLength);

/** Returns the parameters of a Bearer challenge (RFC 9728, 5.1; RFC 6750, 3). */
function challengeOf(response: IncomingMessage): Challenge {
  const header = headerOf(response);
  const valueOf = (name: string) =>
    new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(header);
  const textOf = (name: string) => {
    const match = valueOf(name);
    return (match?.[1] ?? match?.[2]) || undefined;
  };
  return { resourceMetadataUrl: textOf('resource_metadata'), scope: textOf('scope') };
}
