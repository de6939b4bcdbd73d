import type { IncomingMessage, ServerResponse } from 'node:http';

/** Lets pages of other origins read what the hub answers (Fetch standard, section 3.2: CORS). */
export interface Cors {
  /** Puts what browsers ask for on an answer, where its request comes from an allowed origin. */
  mark(request: IncomingMessage, response: ServerResponse): void;
  /** Whether a browser asks on behalf of an allowed origin if it may send a request. */
  isPreflight(request: IncomingMessage): boolean;
}

/** What a preflight is told, besides the origin. */
export const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id',
  'access-control-max-age': '600',
} as const;

/**
 * For the origins that are configured, and for no other: loopback origins may call the hub, but their
 * pages do not read its answers. The headers go on the raw response, as the MCP endpoints answer there:
 * those that @fastify/cors puts on the reply would not reach them.
 */
export function createCors(allowedOrigins: readonly string[]): Cors {
  const origins = new Set(allowedOrigins.map(origin => origin.toLowerCase()));
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && origins.has(origin.toLowerCase());
  return {
    mark(request, response) {
      if (origins.size === 0) return;
      response.setHeader('vary', 'Origin');
      const { origin } = request.headers;
      if (!isAllowed(origin)) return;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate');
    },
    isPreflight: ({ method, headers }) =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      isAllowed(headers.origin),
  };
}
