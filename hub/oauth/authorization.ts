import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Fetch } from './bounded-fetch.ts';
import type { LoginTarget } from './login-types.ts';
import type { StoredLogin } from './stored-login.ts';

/** Imported at the first login: the official client takes memory that most hubs do not need (decisions/0007). */
const loadClient = async () => await import('@modelcontextprotocol/client');

type AuthorizationOptions = {
  readonly target: LoginTarget;
  readonly redirectUrl: string;
  /** Random value that ties the redirect to this authorization. */
  readonly state: string;
  readonly resourceMetadataUrl: string | undefined;
  readonly scope: string | undefined;
  /** Stored login, whose registration is reused with the same issuer. */
  readonly known: StoredLogin | undefined;
  readonly fetch: Fetch;
  /** Rejects for an address to which the server must not send the hub or the browser. */
  readonly checkAddress: (url: URL) => Promise<unknown>;
};

/** A started authorization. `finish` exchanges the code of the redirect for tokens. */
export type Authorization = {
  readonly url: string;
  readonly finish: (code: string, issuer: string | undefined) => Promise<StoredLogin>;
};

/** Discovers the authorization server, registers the hub if necessary, and prepares the code flow with PKCE. */
export async function beginAuthorization(options: AuthorizationOptions): Promise<Authorization> {
  const { target, fetch, checkAddress, scope, resourceMetadataUrl } = options;
  const { auth } = await loadClient();
  const memory = createMemory(options);
  const request = { serverUrl: target.url, fetchFn: fetch, ...(scope !== undefined && { scope }) };
  const metadataUrl = resourceMetadataUrl === undefined ? null : URL.parse(resourceMetadataUrl);
  await auth(memory.provider, {
    ...request,
    ...(metadataUrl && { resourceMetadataUrl: metadataUrl }),
    forceReauthorization: true,
  });
  const { authorizationUrl } = memory.found;
  if (authorizationUrl === undefined) throw new TypeError('the client asked for no authorization');
  // Checked because the browser, too, can reach services on this machine.
  await checkAddress(authorizationUrl);
  return {
    url: authorizationUrl.href,
    async finish(code, issuer) {
      await auth(memory.provider, {
        ...request,
        authorizationCode: code,
        ...(issuer !== undefined && { iss: issuer }),
      });
      return memory.login();
    },
  };
}

/** Creates the state of one authorization, with the provider through which the official client stores it. */
function createMemory(options: AuthorizationOptions) {
  const { target, redirectUrl, state, known } = options;
  const { clientId, clientSecret, clientMetadataUrl } = target.settings;
  const found: {
    authorizationUrl?: URL;
    verifier?: string;
    discovery?: OAuthDiscoveryState;
    client?: StoredOAuthClientInformation;
    tokens?: StoredOAuthTokens;
    resource?: string;
    issuer?: string;
  } = {};

  function clientFor(issuer: string | undefined): StoredOAuthClientInformation | undefined {
    if (clientId !== undefined) {
      requireIssuer(issuer);
      return {
        client_id: clientId,
        ...(clientSecret !== undefined && { client_secret: clientSecret }),
        ...(issuer !== undefined && { issuer }),
      };
    }
    if (found.client) return found.client;
    const isUsable =
      known?.issuer === issuer &&
      known?.redirectUrl === redirectUrl &&
      mayRequest(known.client, options.scope);
    return known && isUsable ? { ...known.client, issuer: known.issuer } : undefined;
  }

  /** Throws if a configured secret would be sent to another authorization server than the first that got it. */
  function requireIssuer(issuer: string | undefined): void {
    if (known === undefined || issuer === undefined || known.issuer === issuer) return;
    if (known.client.client_id !== clientId) return;
    const change = `its authorization server changed from ${known.issuer} to ${issuer}`;
    throw new Error(`${change}. If that is right, run agenthub logout ${target.name} first`);
  }

  const provider: OAuthClientProvider = {
    redirectUrl,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'AgentHub',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    state: () => state,
    clientInformation: context => clientFor(context?.issuer),
    saveClientInformation: client => void (found.client = client),
    tokens: () => undefined,
    saveTokens: tokens => void (found.tokens = tokens),
    redirectToAuthorization: url => void (found.authorizationUrl = url),
    saveCodeVerifier: verifier => void (found.verifier = verifier),
    codeVerifier: () => found.verifier ?? '',
    saveAuthorizationServerUrl: issuer => void (found.issuer = issuer),
    saveResourceUrl: resource => void (found.resource = resource),
    saveDiscoveryState: discovery => void (found.discovery = discovery),
    discoveryState: () => found.discovery,
  };

  return {
    provider,
    found,
    login(): StoredLogin {
      const { issuer, tokens, resource, discovery } = found;
      const client = clientFor(issuer);
      if (issuer === undefined || !tokens || !client)
        throw new TypeError('the client obtained no tokens');
      return {
        version: 1,
        url: target.url,
        redirectUrl,
        authorizationServer: discovery?.authorizationServerUrl ?? issuer,
        issuer,
        ...(resource !== undefined && { resource }),
        client,
        tokens: { ...tokens, ...(tokens.scope === undefined && scopeOf(options)) },
      };
    },
  };
}

/** True if a registration covers these scopes: it may be limited to its original scopes (RFC 7591, 2). */
function mayRequest({ scope: registered }: StoredLogin['client'], scope: string | undefined) {
  if (typeof registered !== 'string' || scope === undefined) return true;
  const allowed = new Set(registered.split(' '));
  return scope.split(' ').every(one => allowed.has(one));
}

/** Returns the requested scopes, which are granted if the response has no `scope` (RFC 6749, 5.1). */
const scopeOf = ({ scope }: AuthorizationOptions) => (scope === undefined ? {} : { scope });

type Refreshed =
  | { readonly kind: 'tokens'; readonly tokens: NonNullable<StoredLogin['tokens']> }
  /** The authorization server ended the login. Only a person can log in again. */
  | {
      readonly kind: 'ended';
      readonly why: string;
      /** True if the hub's registration is no longer valid. */
      readonly isClientRefused?: boolean;
    };

/** Exchanges the refresh token. Rejects if the authorization server does not give a valid answer. */
export async function refreshTokens(login: StoredLogin, fetch: Fetch): Promise<Refreshed> {
  const client = await loadClient();
  const refreshToken = login.tokens?.refresh_token;
  if (refreshToken === undefined) return { kind: 'ended', why: 'there is no refresh token' };
  let status = 0;
  const noting: Fetch = async (...request) => {
    const response = await fetch(...request);
    ({ status } = response);
    return response;
  };
  const metadata = await client.discoverAuthorizationServerMetadata(login.authorizationServer, {
    fetchFn: noting,
  });
  try {
    const tokens = await client.refreshAuthorization(login.authorizationServer, {
      ...(metadata && { metadata }),
      clientInformation: login.client,
      refreshToken,
      ...(login.resource !== undefined && { resource: login.resource }),
      fetchFn: noting,
    });
    const { scope } = login.tokens ?? {};
    return {
      kind: 'tokens',
      tokens: { ...tokens, ...(tokens.scope === undefined && scope !== undefined && { scope }) },
    };
  } catch (error) {
    const isFinal = error instanceof client.OAuthError && finalErrors.has(error.code);
    // Only these errors end the login: a proxy or rate limit may return others for a valid refresh token.
    if (!isFinal || status === 429 || status >= 500) throw error;
    const why = `${error.code}: ${error.message}`;
    return { kind: 'ended', why, isClientRefused: clientErrors.has(error.code) };
  }
}

/** Errors of the token endpoint about the hub's registration (RFC 6749, 5.2). */
const clientErrors: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);
/** True for an error of the token endpoint after which the hub must register again. */
export const isClientRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && clientErrors.has(String(error.code));

/** Errors after which the refresh token is useless (RFC 6749, 5.2; RFC 8707, 2). */
const finalErrors: ReadonlySet<string> = new Set([
  ...clientErrors,
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'unsupported_grant_type',
]);

/** Revokes the tokens of a login (RFC 7009). Resolves with false if that is unsupported or refused. */
export async function revokeTokens(login: StoredLogin, fetch: Fetch): Promise<boolean> {
  const { discoverAuthorizationServerMetadata, selectClientAuthMethod } = await loadClient();
  const { tokens, client } = login;
  const metadata = await discoverAuthorizationServerMetadata(login.authorizationServer, {
    fetchFn: fetch,
  });
  const endpoint: unknown = metadata && Reflect.get(metadata, 'revocation_endpoint');
  if (!tokens || typeof endpoint !== 'string') return false;
  const supported = metadata?.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(client, supported);
  let isRevoked = true;
  // The refresh token first, as it could create further access tokens.
  for (const [hint, token] of [
    ['refresh_token', tokens.refresh_token],
    ['access_token', tokens.access_token],
  ] as const) {
    if (token === undefined) continue;
    const { headers, body } = authenticated(method, client, { token, token_type_hint: hint });
    const response = await fetch(endpoint, { method: 'POST', headers, body });
    await response.arrayBuffer();
    isRevoked &&= response.ok;
  }
  return isRevoked;
}

/** Returns headers and body with client authentication (RFC 6749, 2.3.1). */
function authenticated(
  method: string,
  { client_id: id, client_secret: secret = '' }: StoredLogin['client'],
  params: Readonly<Record<string, string>>,
) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  if (method === 'client_secret_basic') {
    const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
    const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    return { headers: { ...headers, authorization }, body: new URLSearchParams(params) };
  }
  const own = { client_id: id, ...(method === 'client_secret_post' && { client_secret: secret }) };
  return { headers, body: new URLSearchParams({ ...params, ...own }) };
}

const formEncoded = (text: string) => new URLSearchParams({ a: text }).toString().slice(2);
