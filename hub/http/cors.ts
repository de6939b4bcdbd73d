import type { IncomingMessage, ServerResponse } from 'node:http';

/** Lets pages of other origins read what the hub answers (Fetch standard, section 3.2: CORS). */
export interface Cors {
  /** Puts what browsers ask for on an answer, where its request comes from an allowed origin. */
  mark(request: IncomingMessage, response: ServerResponse): void;
  /** What a preflight is told, besides the origin. */
  preflightHeaders(request: IncomingMessage): Readonly<Record<string, string>>;
  /** Whether a browser asks on behalf of an allowed origin if it may send a request. */
  isPreflight(request: IncomingMessage): boolean;
}

/** The headers of requests that pages may set. */
const allowedHeaders =
  'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name';

/** Headers that repeat an argument of a tool (MCP 2026-07-28): the tools name them. */
const paramHeader = /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const maxParamHeaders = 64;

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
    preflightHeaders({ headers }) {
      // With credentials there is no wildcard: those are allowed that are asked for.
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
    isPreflight: ({ method, headers }) =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      isAllowed(headers.origin),
  };
}
