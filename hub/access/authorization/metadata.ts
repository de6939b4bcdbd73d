/** Paths of the authorization server. The decision is a page of the dashboard, whose login it needs. */
export const authorizationPaths = {
  resource: '/.well-known/oauth-protected-resource',
  server: '/.well-known/oauth-authorization-server',
  authorize: '/dashboard/authorize',
  register: '/oauth/register',
  token: '/oauth/token',
} as const;

const endpoint = /^\/(?:mcp|sse)(?:\/@?[\w.~-]+)?/;

/** The path of the MCP endpoint that a path belongs to; undefined for a path of none. */
export function endpointPathOf(path: string): string | undefined {
  const [found] = endpoint.exec(path) ?? [];
  const next = found === undefined ? '' : path.slice(found.length);
  return next === '' || next.startsWith('/') || next.startsWith('?') ? found : undefined;
}

/** Metadata of an endpoint (RFC 9728). `origin`: that by which the client reaches the hub. */
export const resourceMetadata = (origin: string, path: string) => ({
  resource: `${origin}${path}`,
  authorization_servers: [origin],
  bearer_methods_supported: ['header'],
  resource_name: 'AgentHub',
});

/** Metadata of the authorization server (RFC 8414). */
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

/** Browsers log in to the dashboard at localhost (`agenthub open`), and a cookie is of one host name. */
const browserOrigin = (origin: string): string =>
  origin.replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=:|$)/, '$1localhost');
