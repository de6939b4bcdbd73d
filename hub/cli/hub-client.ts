import type { IncomingMessage } from 'node:http';
import { findClosest } from '#config';
import { type Code, type ErrorData, HubError, codes, http, https, isObject } from '#core';
import { type HubEvent, readEvents, readWhole } from './answers.ts';
import type { Options, Values } from './command.ts';
import type { OwnerAccess } from './owner/socket.ts';
import { jsonOption, textOf } from './values.ts';

/** A hub that runs, and what lets a client in. */
export type HubPlace = {
  /** Such as `http://localhost:9090`. A path, behind a proxy, stands before the hub's own. */
  readonly url: string;
  readonly token: string | undefined;
  /**
   * The key that administers this hub; asked for once the hub refuses without it. Rejects with HubError where
   * this user does not have it. Absent: nothing is administered.
   */
  readonly ownerAccess?: (signal: AbortSignal) => Promise<OwnerAccess>;
};

export type HubNeeds = {
  /** The hub at this address, or that of the settings. Throws HubError for settings that are wrong. */
  readonly findHub: (url: string | undefined) => Promise<HubPlace>;
};

/** `--url` and `--json`, of every command that asks a hub. */
export const hubOptions = {
  url: {
    type: 'string',
    placeholder: 'url',
    help: 'Where the hub is. Default: http://localhost:9090, or as ROUTER_PORT and TLS are set.',
  },
  ...jsonOption,
} as const satisfies Options;

export type Asking = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the address of the hub, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends it in place of the signal of the command. */
  readonly signal?: AbortSignal;
};

/**
 * The HTTP API of a hub. Everything rejects with HUB_CONNECT_FAILED where no hub answers or lets the client in,
 * and with the hub's own error where it refuses.
 */
export interface HubClient {
  readonly url: string;
  /** The answer as it comes, whatever its status but 401. */
  send(asking: Asking): Promise<IncomingMessage>;
  /** The JSON of an answer. */
  ask(asking: Asking): Promise<unknown>;
  /** What is told as it comes about. Rejects where an event is an error. */
  follow(asking: Asking): AsyncIterable<HubEvent>;
  /** The error that the hub means by `{"code", "message", ...}`; undefined where it is none. */
  errorOf(said: unknown): Promise<HubError | undefined>;
}

/** What a hub asks for in WWW-Authenticate where a token for calls is not enough. */
const administers = 'scope="administer"';
/** Too many wrong keys from this address read as 429: the right one is admitted all the same. */
const isUnauthorized = ({ statusCode, headers }: IncomingMessage) =>
  statusCode === 401 ||
  (statusCode === 429 && headers['www-authenticate']?.includes(administers) === true);
/** A hub that takes longer than this to take a connection is not there, in milliseconds. */
const connectMs = 10_000;

/** The client of the hub that a command line names. Throws HubError for an address that is none. */
export async function openHub(
  { findHub }: HubNeeds,
  values: Values,
  signal: AbortSignal,
): Promise<HubClient> {
  return createHubClient(await findHub(textOf(values, 'url')), signal);
}

/** A client of the hub there. All that it does ends with the signal. Throws HUB_USAGE for an address that is none. */
export function createHubClient(place: HubPlace, ending: AbortSignal): HubClient {
  const { url, token, ownerAccess } = place;
  const base = baseOf(url);

  async function send(asking: Asking): Promise<IncomingMessage> {
    const answer = await request(asking, token);
    if (!isUnauthorized(answer)) return answer;
    // Unread it would keep the connection, and with it the process, until the hub closes that.
    answer.destroy();
    const isCall = answer.headers['www-authenticate']?.includes(administers) !== true;
    if (!ownerAccess) throw await refusalOf(answer, '');
    const { key, dial } = await ownerAccess(asking.signal ?? ending).catch(
      async (error: unknown) => {
        throw isCall ? await refusalOf(answer, '') : error;
      },
    );
    const again = await request(asking, key, dial);
    if (!isUnauthorized(again)) return again;
    again.destroy();
    throw new HubError('HUB_OWNER_ONLY', `the hub at ${url} has another owner's key`);
  }

  /** Asks with a bearer token. A hub that refuses has done nothing, and may be asked again. */
  async function request(
    { method, path, headers, body, signal = ending }: Asking,
    bearer: string | undefined,
    dial?: OwnerAccess['dial'],
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const target = new URL(`${base}${path}`);
    const isSecure = target.protocol === 'https:';
    const sent = (isSecure ? https : http).request(target, {
      method,
      signal,
      ...(dial && !isSecure && { hostname: dial.host, port: dial.port }),
      headers: {
        host: target.host,
        accept: 'application/json',
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
    });
    const timer = setTimeout(() => sent.destroy(new Error('it does not answer')), connectMs);
    sent.once('socket', socket => {
      if (!socket.connecting) clearTimeout(timer);
      else socket.once('connect', () => clearTimeout(timer));
    });
    sent.once('response', resolve);
    sent.once('error', reject);
    sent.end(text);
    try {
      return await promise;
    } catch (error) {
      signal.throwIfAborted();
      const { unreachable } = await import('#transports');
      throw unreachable({ url }, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The error that a hub answers with. What is no hub answers in another way. */
  async function refusalOf(answer: IncomingMessage, text: string): Promise<HubError> {
    const body = parse(text);
    const problem = await errorOf(isObject(body) ? body['error'] : undefined);
    if (problem) return problem;
    const { refused } = await import('#transports');
    return refused({ url, server: undefined }, answer.statusCode ?? 0, undefined);
  }

  async function errorOf(said: unknown): Promise<HubError | undefined> {
    if (!isObject(said)) return undefined;
    const { code, message, ...data } = said;
    if (typeof message !== 'string') return undefined;
    const told = inCommands(message);
    const text = code === 'HUB_SERVER_UNKNOWN' ? await withGuess(told, data) : told;
    return new HubError(isCode(code) ? code : 'HUB_INTERNAL', text, { data });
  }

  /** Whoever misspells a server is told which was meant. */
  async function withGuess(message: string, { server }: ErrorData): Promise<string> {
    if (server === undefined) return message;
    const servers = await listServers(client).catch(() => []);
    const meant = findClosest(
      server,
      servers.map(({ name }) => String(name)),
    );
    return meant === undefined ? message : `${message}. Did you mean ${JSON.stringify(meant)}?`;
  }

  const isRefusal = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 400;

  const client: HubClient = {
    url,
    send,
    async ask(asking) {
      const answer = await send(asking);
      const text = await readWhole(answer);
      if (isRefusal(answer)) throw await refusalOf(answer, text);
      return parse(text);
    },
    async *follow(asking) {
      const headers = { accept: 'text/event-stream', ...asking.headers };
      const answer = await send({ ...asking, headers });
      if (isRefusal(answer)) throw await refusalOf(answer, await readWhole(answer));
      for await (const event of readEvents(answer)) {
        if (event.type === 'error') throw await refusalOf(answer, event.data);
        yield event;
      }
    },
    errorOf,
  };
  return client;
}

type Described = { readonly [key: string]: unknown };

/** What `GET /servers` says of each server. Rejects as `ask` does. */
export const listServers = async (client: HubClient): Promise<readonly Described[]> =>
  listed(await client.ask({ method: 'GET', path: '/servers' }), 'servers');

/** What `GET /jobs` says of each job, newest first. Rejects as `ask` does. */
export const listJobs = async (client: HubClient): Promise<readonly Described[]> =>
  listed(await client.ask({ method: 'GET', path: '/jobs' }), 'jobs');

/** The objects of a list in an answer; none where there is no such list. */
function listed(answer: unknown, name: string): readonly Described[] {
  const all = isObject(answer) ? answer[name] : undefined;
  return Array.isArray(all) ? all.filter(isObject) : [];
}

/** True where nothing listens at the address: no hub runs there. */
export function isAbsent(error: unknown): boolean {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONNECT_FAILED') return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/** The JSON of a text; undefined where it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same advice for a person with a shell. */
const inCommands = (message: string) =>
  message.replaceAll(/\bPOST \/servers\/([\w-]+)\/((?:re)?start)\b/g, '"agenthub $2 $1"');

const isCode = (value: unknown): value is Code =>
  typeof value === 'string' && Object.hasOwn(codes, value);

/** The address of the hub's own paths, without a slash at the end. */
function baseOf(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new HubError(
      'HUB_USAGE',
      `--url: ${JSON.stringify(text)} is not allowed: write the hub's address, such as http://localhost:9090`,
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/mcp$/, '')}`;
}
