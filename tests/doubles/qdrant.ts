import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { http, isObject } from '#core';
import { freePort } from '#helpers/port';
import { findDescription } from './openapi.ts';
import { type Answer, type Store, createStore, refuse } from './qdrant-store.ts';

/** Fault of a Qdrant. It applies to every call until the test changes it. */
export type QdrantFault =
  /** Receives the call and never answers. */
  | 'hangs'
  /** Sends the header and a part of the body of an answer, and then nothing more. */
  | 'hangs_midway'
  /** Breaks the connection. */
  | 'resets'
  /** Answers with 500 and a JSON error. */
  | 'fails'
  /** Answers with 429 and Retry-After, like a rate limit. */
  | 'is_busy'
  /** Answers all changes of points with 500, because the disk is full (observed in 1.19.0). */
  | 'is_full'
  /** Answers with 200 and an HTML page, as a wrong address does. */
  | 'is_a_page'
  /** Answers with 502 and an HTML page, like a proxy whose Qdrant is down. */
  | 'is_behind_a_page'
  /** Answers with 200 and JSON of another API. */
  | 'is_another_api';

/** A double of Qdrant 1.19 over HTTP, which stores points in memory. */
export type QdrantDouble = AsyncDisposable & {
  readonly url: string;
  fault: QdrantFault | undefined;
  /** Method and path of each call, without the query. */
  readonly calls: readonly string[];
  /**
   * Number of answers that were compressed because the caller accepts it. Compressed answers of 1.19.0 leave in two
   * parts, and the second waits up to 40 ms for the acknowledgement of the first.
   */
  readonly compressed: number;
  /** Number of calls that hang and whose caller is still connected. */
  readonly hanging: number;
  /** Deviations of requests and answers from the OpenAPI description. */
  readonly problems: readonly string[];
  /** Stops listening. `comeBack` listens again on the same port, with the same points. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
};

/** OpenAPI description that the double is checked against; undefined if its file does not exist. */
export const qdrantDescription = findDescription('qdrant-1.19.json');

/** Starts a Qdrant double on a free port. If `apiKey` is given, calls without it are refused. */
export async function startQdrant(
  options: {
    readonly apiKey?: string;
    /** Version of Qdrant. Default: 1.19.0. Before 1.11.1 integer indexes need more params (`createStore`). */
    readonly version?: string;
  } = {},
): Promise<QdrantDouble> {
  const { version = '1.19.0' } = options;
  const calls: string[] = [];
  const problems: string[] = [];
  const hanging = new Set<ServerResponse>();
  const isOld = version.localeCompare('1.11.1', 'en', { numeric: true }) < 0;
  const store = createStore({ needsIndexParams: isOld });
  let compressed = 0;
  let fault: QdrantFault | undefined;
  const server = http.createServer((request, response) => void take(request, response));
  const port = await freePort();
  await listen(server, port);

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? '';
    const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://double');
    calls.push(`${method} ${path}`);
    const body = await bodyOf(request);
    if (body !== undefined) check({ method, path, status: undefined, body });
    const isFault = fault !== 'is_full' || /\/points(?:\/delete)?$/.test(path);
    if (fault && isFault) return misbehave(fault, request, response);
    // Qdrant 1.19.0 sends its version without an API key.
    const isOpen = path === '/';
    if (!isOpen && options.apiKey !== undefined && request.headers['api-key'] !== options.apiKey) {
      response.writeHead(401, { 'content-type': 'text/plain' });
      response.end('Must provide an API key or an Authorization bearer token');
      return;
    }
    const answer = isOpen
      ? { status: 200, body: { title: 'qdrant - vector search engine', version } }
      : answerTo(store, method, path, body, searchParams.get('wait') === 'true');
    check({ method, path, status: answer.status, body: answer.body });
    const text = JSON.stringify(answer.body);
    const isCompressed = /gzip/.test(String(request.headers['accept-encoding']));
    if (isCompressed) compressed++;
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    });
    response.end(isCompressed ? gzipSync(text) : text);
  }

  function check(exchange: {
    readonly method: string;
    readonly path: string;
    readonly status: number | undefined;
    readonly body: unknown;
  }): void {
    const found = qdrantDescription?.problems({ ...exchange, contentType: 'application/json' });
    if (qdrantDescription && !found)
      problems.push(`${exchange.method} ${exchange.path}: is not described`);
    problems.push(...(found ?? []));
  }

  function misbehave(how: QdrantFault, request: IncomingMessage, response: ServerResponse): void {
    const send = (status: number, type: string, text: string, headers: object = {}) => {
      response.writeHead(status, { 'content-type': type, ...headers });
      response.end(text);
    };
    const sendError = (status: number, error: string, headers?: object) =>
      send(status, 'application/json', JSON.stringify(refuse(status, error).body), headers);
    const page = '<!DOCTYPE html><html><body>Welcome</body></html>';
    switch (how) {
      case 'hangs':
      case 'hangs_midway':
        hanging.add(response);
        response.on('close', () => hanging.delete(response));
        if (how === 'hangs_midway') {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('{"result":{"po');
        }
        return;
      case 'resets':
        request.socket.destroy();
        return;
      case 'fails':
        return sendError(500, 'Service internal error: 1 of 1 read operations failed');
      case 'is_busy':
        return sendError(429, 'Rate limiting exceeded: Write rate limit exceeded', {
          'retry-after': '1',
        });
      case 'is_full':
        return sendError(
          500,
          'Service internal error: No space left on device: WAL buffer size exceeds available disk space',
        );
      case 'is_a_page':
        return send(200, 'text/html', page);
      case 'is_behind_a_page':
        return send(502, 'text/html', page);
      case 'is_another_api':
        return send(200, 'application/json', '{"models":[]}');
    }
  }

  const goAway = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };

  return {
    url: `http://127.0.0.1:${port}`,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    calls,
    problems,
    get compressed() {
      return compressed;
    },
    get hanging() {
      return hanging.size;
    },
    goAway,
    comeBack: () => listen(server, port),
    [Symbol.asyncDispose]: goAway,
  };
}

function answerTo(
  store: Store,
  method: string,
  path: string,
  body: unknown,
  waits: boolean,
): Answer {
  const [root, encoded, ...rest] = path.slice(1).split('/');
  if (root !== 'collections') return refuse(404, 'Not found');
  if (encoded === undefined) return store.list();
  const name = decodeURIComponent(encoded);
  const asked = isObject(body) ? body : {};
  switch (`${method} /${rest.join('/')}`) {
    case 'GET /':
      return store.read(name);
    case 'PUT /':
      return store.create(name, asked);
    case 'PATCH /':
      return store.update(name, asked);
    case 'DELETE /':
      return store.drop(name);
    case 'PUT /index':
      return store.index(name, asked);
    case 'PUT /points':
      return store.upsert(name, asked, waits);
    case 'POST /points/query':
      return store.query(name, asked);
    case 'POST /points/delete':
      return store.remove(name, asked, waits);
    case 'POST /points/count':
      return store.count(name, asked);
    default:
      return refuse(404, 'Not found');
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text === '' ? undefined : JSON.parse(text);
}
