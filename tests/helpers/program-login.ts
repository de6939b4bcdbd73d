import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  Client as ModernClient,
  type OAuthDiscoveryState as ModernDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import type { OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';

/** Starts the HTTP server to which the browser is redirected after a login, on a free port. */
export async function openCallback() {
  const { promise: called, resolve } = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Back in the program</h1>');
    if (url.pathname === '/callback') resolve(url.searchParams);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  assert.ok(bound !== null && typeof bound === 'object');
  return {
    url: `http://127.0.0.1:${bound.port}/callback`,
    /** Resolves with the query parameters of the redirect. */
    called,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Creates an OAuth provider for a client of the SDK, which stores its registration and tokens in memory. */
function createProvider<Info, Tokens, Discovery>(redirectUrl: string, name: string) {
  let discovery: Discovery | undefined;
  let info: Info | undefined;
  let tokens: Tokens | undefined;
  let verifier = '';
  let opened: URL | undefined;
  return {
    redirectUrl,
    clientMetadata: {
      client_name: name,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'state-of-the-program',
    clientInformation: () => info,
    saveClientInformation: (saved: Info) => void (info = saved),
    tokens: () => tokens,
    saveTokens: (saved: Tokens) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void (opened = url),
    saveCodeVerifier: (saved: string) => void (verifier = saved),
    codeVerifier: () => verifier,
    saveDiscoveryState: (saved: Discovery) => void (discovery = saved),
    discoveryState: () => discovery,
    /** Returns the URL that the program last opened in the browser. */
    opened(): string {
      assert.ok(opened, 'the program opened no browser');
      return opened.href;
    },
    /** True if the program has opened the browser since the last call of `wantsBrowser`. */
    wantsBrowser(): boolean {
      const wanted = opened !== undefined;
      opened = undefined;
      return wanted;
    },
  };
}

/** An official MCP client that performs its own OAuth login. */
export type Program = {
  readonly provider: { readonly opened: () => string; readonly wantsBrowser: () => boolean };
  /** Connects, lists the tools and calls the echo tool. Rejects if the hub refuses the client. */
  use(): Promise<void>;
  finish(params: URLSearchParams): Promise<void>;
};

type Listed = { readonly tools: readonly { readonly name: string }[] };
type Usable = {
  listTools(): Promise<Listed>;
  callTool(call: {
    readonly name: string;
    readonly arguments: Record<string, unknown>;
  }): Promise<unknown>;
  close(): Promise<void>;
};

async function useAll(client: Usable): Promise<void> {
  const { tools } = await client.listTools();
  const answer = await client.callTool({ name: 'echo_echo', arguments: { text: 'hello' } });
  assert.match(JSON.stringify(answer), /hello/);
  assert.ok(tools.some(({ name }) => name === 'echo_echo'));
  await client.close();
}

const version = '1.0.0';

/** The official clients, by version and transport. */
export const programs: Readonly<
  Record<string, (url: string, redirect: string, name: string) => Program>
> = {
  'the v1 client over streamable HTTP'(url, redirect, name) {
    const provider = createProvider<OAuthClientInformationMixed, OAuthTokens, OAuthDiscoveryState>(
      redirect,
      name,
    );
    const open = () =>
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider });
    return {
      provider,
      async use() {
        const client = new Client({ name, version });
        await client.connect(open());
        await useAll(client);
      },
      finish: async params => await open().finishAuth(params.get('code') ?? ''),
    };
  },
  'the v1 client over HTTP with SSE'(url, redirect, name) {
    const provider = createProvider<OAuthClientInformationMixed, OAuthTokens, OAuthDiscoveryState>(
      redirect,
      name,
    );
    const open = () => new SSEClientTransport(new URL(`${url}/sse`), { authProvider: provider });
    return {
      provider,
      async use() {
        const client = new Client({ name, version });
        await client.connect(open());
        await useAll(client);
      },
      finish: async params => await open().finishAuth(params.get('code') ?? ''),
    };
  },
  'the v2 client, stateless'(url, redirect, name) {
    const provider = createProvider<
      StoredOAuthClientInformation,
      StoredOAuthTokens,
      ModernDiscoveryState
    >(redirect, name);
    const open = () => new ModernHttp(new URL(`${url}/mcp`), { authProvider: provider });
    return {
      provider,
      async use() {
        const versionNegotiation = { mode: { pin: '2026-07-28' } } as const;
        const client = new ModernClient({ name, version }, { versionNegotiation });
        await client.connect(open());
        await useAll(client);
      },
      // This client checks the issuer in the redirect (RFC 9207), so it needs all parameters.
      finish: async params => await open().finishAuth(params),
    };
  },
};
