import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';

type Reply = {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};
type Asked = {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
};
type Answer = (asked: Asked) => Reply | Promise<Reply>;

/** An authorization server, and the metadata of an MCP server that names it. Tests replace the answers of paths. */
export type AuthorizationServer = AsyncDisposable &
  Awaited<ReturnType<typeof startAuthorizationServer>>;

const resourcePath = '/.well-known/oauth-protected-resource/mcp';
const metadataPath = '/.well-known/oauth-authorization-server';

export async function startAuthorizationServer() {
  const asked: Asked[] = [];
  const instead = new Map<string, Answer>();
  let made = 0;
  let origin = '';
  let challenge = '';

  const metadata = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  });

  const tokens = (more: object = {}) => {
    made += 1;
    return {
      access_token: `access-${made}`,
      refresh_token: `refresh-${made}`,
      token_type: 'Bearer',
      expires_in: 1000,
      ...more,
    };
  };

  const usual: Readonly<Record<string, Answer>> = {
    [resourcePath]: () => ({
      body: { resource: `${origin}/mcp`, authorization_servers: [origin] },
    }),
    [metadataPath]: () => ({ body: metadata() }),
    '/register': ({ form }) => {
      made += 1;
      const wanted: unknown = JSON.parse([...form.keys()].join('') || '{}');
      return { status: 201, body: { ...Object(wanted), client_id: `client-${made}` } };
    },
    '/token': ({ form }) => {
      const isCode = form.get('grant_type') === 'authorization_code';
      const proof = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      return isCode && proof !== challenge
        ? { status: 400, body: { error: 'invalid_grant' } }
        : { body: tokens() };
    },
    '/revoke': () => ({}),
  };

  async function answerTo(request: IncomingMessage): Promise<Reply> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const isJson = request.headers['content-type'] === 'application/json';
    const form = new URLSearchParams(isJson ? [[text, '']] : text);
    const { pathname: path } = new URL(request.url ?? '/', origin);
    const one = { path, form, headers: request.headers };
    asked.push(one);
    return await (instead.get(path) ?? usual[path] ?? (() => ({ status: 404 })))(one);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status = 200, body = '', headers = {} } = await answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  origin = `http://127.0.0.1:${address.port}`;

  return {
    issuer: origin,
    url: `${origin}/mcp`,
    resourcePath,
    metadataPath,
    metadata,
    tokens,
    asked,
    /** Returns the requests to a path. */
    of: (path: string) => asked.filter(one => one.path === path),
    answer: (path: string, answer: Answer) => void instead.set(path, answer),
    /** Grants an authorization request. Returns the query with which the browser is redirected to the hub. */
    grant(authorizationUrl: string, changes: Readonly<Record<string, string>> = {}) {
      const { searchParams } = new URL(authorizationUrl);
      assert.equal(searchParams.get('code_challenge_method'), 'S256');
      challenge = searchParams.get('code_challenge') ?? '';
      const state = searchParams.get('state') ?? '';
      return new URLSearchParams({ state, code: 'the-code', iss: origin, ...changes });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
