import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { isObject } from '#core';
import { freePort } from '#helpers/port';
import type { Fault } from './ollama-faults.ts';
import { type DoubleModel, createModelShelf } from './ollama-models.ts';
import { type RunnerTimes, createRunners } from './ollama-runners.ts';
import type { Asked, Reply } from './ollama-reply.ts';
import { send } from './ollama-send.ts';
import { answerOf } from './ollama-wire.ts';
import type { Exchange } from './openapi.ts';

export { type Fault, busy } from './ollama-faults.ts';
export { embeddingOf } from './ollama-embedding.ts';
export { modelNamed } from './ollama-models.ts';
export type { RunnerTimes } from './ollama-runners.ts';
export type { Asked, Reply } from './ollama-reply.ts';

/** A request that the double received. */
type Received = {
  readonly method: string;
  readonly path: string;
  readonly body: Asked;
  /** True if the client disconnected before the answer was complete. */
  readonly isAbandoned: boolean;
  /** Port of the client, which is the same for requests on one connection. */
  readonly clientPort: number;
};

/** An Ollama double without real models: an HTTP server with Ollama's wire format. */
export type OllamaDouble = AsyncDisposable & {
  readonly url: string;
  /** Returns all requests so far, in order, or only those to `path`. */
  received(path?: string): readonly Received[];
  /** Sets the reply of its models. */
  says(reply: Said | ((asked: Asked) => Said | Promise<Said>)): void;
  /** Applies a fault to the next `times` answers of a path, or of all paths with `*`. Default: to all answers. */
  fails(path: string, fault: Fault, times?: number): void;
  /** Removes all faults. */
  heals(): void;
  add(model: DoubleModel): void;
  remove(name: string): void;
  isLoaded(name: string): boolean;
  /** How often a model was loaded, and how many delays its runners have started. Both are 0 without `times`. */
  readonly loads: number;
  readonly works: number;
  /** Stops listening and closes all connections. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
};

/** A reply, or only its text. */
export type Said = string | Reply;

export type OllamaDoubleOptions = {
  readonly models?: readonly string[];
  /** Whether /api/tags lists the capabilities of models. False: only /api/show has them, as in Ollama 0.24.0. */
  readonly listsCapabilities?: boolean;
  /** Address to listen on. Default: 127.0.0.1, which containers cannot reach. */
  readonly host?: string;
  /** Delays of models. Without it they answer at once. */
  readonly times?: RunnerTimes;
  /** Names of models that can be pulled. */
  readonly pullable?: readonly string[];
  /** Called with every request that has a body, and every answer with status 200. */
  readonly observe?: (exchange: Exchange) => void;
};

/** Starts an Ollama double, by default with llama3.2:3b and nomic-embed-text. */
export async function startOllama(options: OllamaDoubleOptions = {}): Promise<OllamaDouble> {
  const {
    models = ['llama3.2:3b', 'nomic-embed-text'],
    pullable = ['phi3:mini'],
    listsCapabilities = true,
    host = '127.0.0.1',
    times,
    observe,
  } = options;
  const shelf = createModelShelf(models, pullable);
  const runners = times && createRunners(times, shelf);
  const received: (Omit<Received, 'isAbandoned'> & { isAbandoned: boolean })[] = [];
  const faults: { path: string; fault: Fault; left: number }[] = [];
  let reply = async (asked: Asked): Promise<Reply> => ({ text: improvedOf(promptIn(asked)) });

  function faultOf(path: string): Fault | undefined {
    const found = faults.find(
      fault => (fault.path === '*' || fault.path === path) && fault.left > 0,
    );
    if (found) found.left--;
    return found?.fault;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '' } = request;
    const path = new URL(request.url ?? '/', 'http://double').pathname;
    const body = parsed(await textOf(request));
    const clientPort = request.socket.remotePort ?? 0;
    const own = { method, path, body, isAbandoned: false, clientPort };
    received.push(own);
    response.on('close', () => {
      own.isAbandoned = !response.writableEnded;
    });
    if (runners && ['/api/chat', '/api/embed'].includes(path))
      await runners.run(body, response, before => respond(own, response, before));
    else await respond(own, response);
  }

  async function respond(
    { method, path, body }: Omit<Received, 'isAbandoned'>,
    response: ServerResponse,
    before?: (line: number) => Promise<void>,
  ): Promise<void> {
    const world = { shelf, reply, listsCapabilities, ...times };
    const answer = await answerOf(method, path, body, world);
    if (method === 'POST')
      observe?.({ method, path, status: undefined, contentType: 'application/json', body });
    if (answer.status === 200)
      for (const value of answer.values)
        observe?.({ method, path, status: 200, contentType: answer.type, body: value });
    const fault = faultOf(path) ?? answer.fault ?? (before && { kind: 'paced', before });
    await send(response, answer, fault);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // The client disconnected while its request was read.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  const listen = async (port: number) => {
    server.listen(port, host);
    await once(server, 'listening');
  };
  const port = await freePort();
  await listen(port);

  async function stop(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    runners?.kill();
    await closed;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    received: path => received.filter(one => path === undefined || one.path === path),
    says(told) {
      reply = async asked => {
        const said = typeof told === 'function' ? await told(asked) : told;
        return typeof said === 'string' ? { text: said } : said;
      };
    },
    fails: (path, fault, times = Infinity) => void faults.push({ path, fault, left: times }),
    heals: () => void faults.splice(0),
    add: model => shelf.add(model),
    remove: name => void shelf.remove(name),
    isLoaded: name => shelf.loaded().some(model => model.name === shelf.find(name)?.name),
    get loads() {
      return runners?.loads ?? 0;
    },
    get works() {
      return runners?.works ?? 0;
    },
    stop,
    start: () => listen(port),
    [Symbol.asyncDispose]: stop,
  };
}

/** Returns the improved prompt that models answer by default. */
export const improvedOf = (prompt: string): string =>
  `A clear and well structured prompt. ${prompt}`;

/** Extracts the user's prompt from the message that the hub wraps around it. */
function promptIn({ messages }: Asked): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const content = isObject(last) ? String(last['content']) : '';
  return /^[^\n]*\n<prompt>\n([^]*)\n<\/prompt>$/.exec(content)?.[1] ?? '';
}

function parsed(text: string): Asked {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return isObject(value) ? value : {};
}
