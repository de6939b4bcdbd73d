import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { http } from '#core';
import { freePort } from '#helpers/port';
import { findDescription } from './openapi.ts';

/** Fault of a registry. It applies to every request until the test changes it. */
export type RegistryFault =
  /** Answers with 500 and a JSON error. */
  | 'fails'
  /** Receives the request and never answers. */
  | 'hangs'
  /** Breaks the connection. */
  | 'resets'
  /** Answers with 200 and an HTML page, as a captive portal does. */
  | 'is_a_page'
  /** Answers with 5 MiB, more than any page of a registry. */
  | 'is_huge'
  /** Redirects to another address. */
  | 'redirects';

/** An entry of a registry: a version of an MCP server. */
export type Registered = {
  readonly server: { readonly name: string; readonly version: string } & Readonly<
    Record<string, unknown>
  >;
  readonly _meta?: Readonly<Record<string, unknown>>;
};

/** A registry of MCP servers with API v0.1, as far as the hub uses it. */
export type RegistryDouble = AsyncDisposable & {
  readonly url: string;
  /** Entries, with the newest version of each server last. */
  servers: readonly Registered[];
  fault: RegistryFault | undefined;
  /** Path and query of each request, in order. */
  readonly asked: string[];
  /** Number of answers with 304, because the client has the current content. */
  readonly unchanged: number;
  /** Deviations of the answers from the OpenAPI description. */
  readonly problems: readonly string[];
};

/** OpenAPI description that the double is checked against; undefined if its file does not exist. */
export const registryDescription = findDescription('mcp-registry.yaml');

export async function startRegistry(initial: readonly Registered[] = []): Promise<RegistryDouble> {
  const asked: string[] = [];
  const problems: string[] = [];
  let unchanged = 0;
  const double: Pick<RegistryDouble, 'servers' | 'fault'> = { servers: initial, fault: undefined };
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://double');
    asked.push(`${url.pathname}${url.search}`);
    if (double.fault) return misbehave(double.fault, response);
    const [status, body] = answerTo(url.pathname, url.searchParams, double.servers);
    const found = registryDescription?.problems({
      method: request.method ?? '',
      path: url.pathname,
      status,
      contentType: 'application/json',
      body,
    });
    problems.push(...(found ?? (registryDescription ? [`${url.pathname} is not described`] : [])));
    const text = JSON.stringify(body);
    const etag = `"${hash('sha256', text).slice(0, 16)}"`;
    if (status === 200 && request.headers['if-none-match'] === etag) {
      unchanged++;
      return void response.writeHead(304, { etag }).end();
    }
    return void response.writeHead(status, { 'content-type': 'application/json', etag }).end(text);
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    get servers() {
      return double.servers;
    },
    set servers(servers) {
      double.servers = servers;
    },
    get fault() {
      return double.fault;
    },
    set fault(fault) {
      double.fault = fault;
    },
    url: `http://127.0.0.1:${port}`,
    asked,
    problems,
    get unchanged() {
      return unchanged;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function misbehave(fault: RegistryFault, response: ServerResponse): void {
  switch (fault) {
    case 'fails':
      return void response
        .writeHead(500, { 'content-type': 'application/json' })
        .end('{"error":"x"}');
    case 'hangs':
      return;
    case 'resets':
      return void response.destroy();
    case 'is_a_page':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Log in</p>');
    case 'is_huge':
      return void response.writeHead(200).end(' '.repeat(5 * 2 ** 20));
    case 'redirects':
      return void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
  }
}

type Answer = readonly [status: number, body: object];

function answerTo(path: string, query: URLSearchParams, all: readonly Registered[]): Answer {
  const newest = new Map(all.map(one => [one.server.name, one]));
  if (path === '/v0.1/servers') {
    const wanted = (query.get('search') ?? '').toLowerCase();
    const listed = query.get('version') === 'latest' ? [...newest.values()] : all;
    const found = listed.filter(({ server }) => server.name.toLowerCase().includes(wanted));
    const limit = Number(query.get('limit') ?? 30);
    const start = Number(query.get('cursor') ?? 0);
    const servers = found.slice(start, start + limit);
    const next = start + limit < found.length ? { nextCursor: String(start + limit) } : {};
    return [200, { servers, metadata: { count: servers.length, ...next } }];
  }
  const [, name = '', version = ''] =
    /^\/v0\.1\/servers\/([^/]+)\/versions\/([^/]+)$/.exec(path)?.map(decodeURIComponent) ?? [];
  const found =
    version === 'latest'
      ? newest.get(name)
      : all.find(({ server }) => server.name === name && server.version === version);
  return found ? [200, found] : [404, { error: 'Server not found' }];
}
