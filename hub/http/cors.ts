import type { IncomingMessage, ServerResponse } from 'node:http';

export type Cors = ReturnType<typeof createCors>;

/** The headers of requests that pages may set. */
const allowedHeaders =
  'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name';

/** Headers that repeat a tool's argument (MCP 2026-07-28). */
const paramHeader = /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const maxParamHeaders = 64;

/**
 * CORS (Fetch standard, section 3.2) for the configured origins only: pages of loopback origins may call the hub but not
 * read its answers. The headers are set on the raw response, because the MCP endpoints bypass Fastify's reply.
 */
export function createCors(allowedOrigins: readonly string[]) {
  const origins = new Set(allowedOrigins.map(origin => origin.toLowerCase()));
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && origins.has(origin.toLowerCase());
  return {
    /** Adds the CORS headers to the answer if the origin is allowed. */
    mark(request: IncomingMessage, response: ServerResponse): void {
      if (origins.size === 0) return;
      response.setHeader('vary', 'Origin');
      const { origin } = request.headers;
      if (!isAllowed(origin)) return;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate');
    },
    /** The headers of the answer to a preflight, without those of `mark`. */
    preflightHeaders({ headers }: IncomingMessage) {
      // A wildcard is not valid with credentials, so the requested headers are named.
      const asked = (headers['access-control-request-headers'] ?? '').toLowerCase().split(',');
      const params = asked.map(name => name.trim()).filter(name => paramHeader.test(name));
      return {
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': [allowedHeaders, ...params.slice(0, maxParamHeaders)].join(
          ', ',
        ),
        'access-control-max-age': '600',
      };
    },
    /** Whether a request is a preflight of an allowed origin. */
    isPreflight: ({ method, headers }: IncomingMessage) =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      isAllowed(headers.origin),
  };
}
