/** Paths of the authorization server. `authorize` is a page of the dashboard, as the decision needs a login there. */
export const authorizationPaths = {
  resource: '/.well-known/oauth-protected-resource',
  server: '/.well-known/oauth-authorization-server',
  authorize: '/dashboard/authorize',
  register: '/oauth/register',
  token: '/oauth/token',
} as const;

const endpoint = /^\/(?:mcp|sse)(?:\/@?[\w.~-]+)?/;

/** Returns the path of the MCP endpoint that a request path belongs to; undefined if it belongs to none. */
export function endpointPathOf(path: string): string | undefined {
  const [found] = endpoint.exec(path) ?? [];
  const next = found === undefined ? '' : path.slice(found.length);
  return next === '' || next.startsWith('/') || next.startsWith('?') ? found : undefined;
}

/** Returns the metadata of an MCP endpoint (RFC 9728). `origin`: origin at which the client reaches the hub. */
export const resourceMetadata = (origin: string, path: string) => ({
  resource: `${origin}${path}`,
  authorization_servers: [origin],
  bearer_methods_supported: ['header'],
  resource_name: 'AgentHub',
});

/** Returns the metadata of the authorization server (RFC 8414). */
export const serverMetadata = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${browserOrigin(origin)}${authorizationPaths.authorize}`,
  token_endpoint: `${origin}${authorizationPaths.token}`,
  registration_endpoint: `${origin}${authorizationPaths.register}`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code'],
  token_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
});

/** Replaces a loopback address by localhost: `agenthub open` logs in there, and cookies belong to one host name. */
const browserOrigin = (origin: string): string =>
  origin.replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=:|$)/, '$1localhost');
