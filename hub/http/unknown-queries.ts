import type { FastifyRequest } from 'fastify';
import { readQuery } from './routes/input.ts';

/** Routes that take query parameters. They refuse unknown parameters themselves. */
const withQuery: ReadonlySet<string> = new Set([
  'DELETE /ollama/cache',
  'DELETE /servers/:name',
  'GET /activity',
  'GET /activity/events',
  'GET /agents/:id/messages',
  'GET /audit',
  'GET /audit/events',
  'GET /catalog',
  'GET /catalog/server',
  'GET /clients',
  'GET /logs',
  'GET /ollama/cache/explain',
  'GET /servers/:name/logs',
  'GET /tasks',
]);

/** Paths of pages, MCP, OAuth, and what probes and Prometheus read. Clients of these may add parameters of their own. */
const lenient = /^\/($|dashboard|health|mcp|messages|metrics|oauth|sse|\.well-known)/;

/**
 * Throws HUB_REQUEST_INVALID for a query parameter that its route would ignore: a request with `dry_run=true` must not
 * run.
 */
export function refuseUnknownQuery(request: FastifyRequest): void {
  const { method, url } = request.routeOptions;
  if (url === undefined || lenient.test(url) || withQuery.has(`${String(method)} ${url}`)) return;
  readQuery(request, []);
}
