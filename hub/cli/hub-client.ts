import type { IncomingMessage } from 'node:http';
import { findClosest } from '#config';
import {
  type Code,
  type ErrorData,
  HubError,
  codes,
  http,
  https,
  isObject,
  tryParseJson,
} from '#core';
import { type HubEvent, readEvents, readWhole } from './responses.ts';
import type { Options, Values } from './command.ts';
import type { OwnerAccess } from './owner/socket.ts';
import { jsonOption, textOf } from './values.ts';

/** Address of a running hub, and credentials for it. */
export type HubPlace = {
  /** Such as `http://localhost:9090`. May contain a path, if the hub is behind a proxy. */
  readonly url: string;
  readonly token: string | undefined;
  /**
   * Returns the key that administers this hub. Called when the hub refuses a request without it. Rejects with
   * HubError if this user does not have the key. Undefined: no administration.
   */
  readonly ownerAccess?: (signal: AbortSignal) => Promise<OwnerAccess>;
};

export type HubNeeds = {
  /** The hub at this URL, or the hub of the settings. Throws HubError for invalid settings. */
  readonly findHub: (url: string | undefined) => Promise<HubPlace>;
};

/** `--url` and `--json`, for all commands that call a hub. */
export const hubOptions = {
  url: {
    type: 'string',
    placeholder: 'url',
    help: 'URL of the hub. Default: http://localhost:9090, or according to ROUTER_PORT and TLS.',
  },
  ...jsonOption,
} as const satisfies Options;

export type HubRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query, relative to the hub's address. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Aborts this request, instead of the command's signal. */
  readonly signal?: AbortSignal;
};

/**
 * Client of a hub's HTTP API. All methods reject with HUB_CONNECT_FAILED if no hub answers or the hub does not admit
 * the client, and with the hub's own error if it refuses.
 */
export interface HubClient {
  readonly url: string;
  /** Returns the response with any status but 401. */
  send(hubRequest: HubRequest): Promise<IncomingMessage>;
  /** Returns the JSON of a response. */
  ask(hubRequest: HubRequest): Promise<unknown>;
  /** Yields events as they arrive. Rejects if an event is an error. */
  follow(hubRequest: HubRequest): AsyncIterable<HubEvent>;
  /** Converts `{"code", "message", ...}` to an error; undefined for anything else. */
  errorOf(said: unknown): Promise<HubError | undefined>;
}

/** In WWW-Authenticate: the request needs the owner's key, not only a token for calls. */
const administers = 'scope="administer"';
/** After too many wrong keys from this address the hub answers 429, but still accepts the right key. */
const isUnauthorized = ({ statusCode, headers }: IncomingMessage) =>
  statusCode === 401 ||
  (statusCode === 429 && headers['www-authenticate']?.includes(administers) === true);
/** Connection timeout in ms. */
const connectMs = 10_000;

/** Creates a client for the hub that the command line names. Throws HubError for an invalid address. */
export async function openHub(
  { findHub }: HubNeeds,
  values: Values,
  signal: AbortSignal,
): Promise<HubClient> {
  return createHubClient(await findHub(textOf(values, 'url')), signal);
}

/** Creates a client of a hub. The signal aborts all its requests. Throws HUB_USAGE for an invalid address. */
export function createHubClient(place: HubPlace, ending: AbortSignal): HubClient {
  const { url, token, ownerAccess } = place;
  const base = baseOf(url);

  async function send(hubRequest: HubRequest): Promise<IncomingMessage> {
    const answer = await request(hubRequest, token);
    if (!isUnauthorized(answer)) return answer;
    // An unread response would keep the connection, and so the process, alive until the hub closes it.
    answer.destroy();
    const isCall = answer.headers['www-authenticate']?.includes(administers) !== true;
    if (!ownerAccess) throw await refusalOf(answer, '');
    const { key, dial } = await ownerAccess(hubRequest.signal ?? ending).catch(
      async (error: unknown) => {
        throw isCall ? await refusalOf(answer, '') : error;
      },
    );
    const again = await request(hubRequest, key, dial);
    if (!isUnauthorized(again)) return again;
    again.destroy();
    throw new HubError('HUB_OWNER_ONLY', `the hub at ${url} has another owner's key`);
  }

  /** Sends a request with a bearer token. A refused request had no effect, so it may be repeated. */
  async function request(
    { method, path, headers, body, signal = ending }: HubRequest,
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
      const { unreachable } = await import('#connector');
      throw unreachable({ url }, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The error in a response. If the server is not a hub, a generic error. */
  async function refusalOf(answer: IncomingMessage, text: string): Promise<HubError> {
    const body = tryParseJson(text);
    const problem = await errorOf(isObject(body) ? body['error'] : undefined);
    if (problem) return problem;
    const { refused } = await import('#connector');
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

  /** Adds a guess if the server's name is misspelt. */
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
    async ask(hubRequest) {
      const answer = await send(hubRequest);
      const text = await readWhole(answer);
      if (isRefusal(answer)) throw await refusalOf(answer, text);
      return tryParseJson(text);
    },
    async *follow(hubRequest) {
      const headers = { accept: 'text/event-stream', ...hubRequest.headers };
      const answer = await send({ ...hubRequest, headers });
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

/** Returns the server list of `GET /servers`. Rejects like `ask`. */
export const listServers = async (client: HubClient): Promise<readonly Described[]> =>
  listed(await client.ask({ method: 'GET', path: '/servers' }), 'servers');

/** Returns the jobs of `GET /jobs`, newest first. Rejects like `ask`. */
export const listJobs = async (client: HubClient): Promise<readonly Described[]> =>
  listed(await client.ask({ method: 'GET', path: '/jobs' }), 'jobs');

/** The objects of a list in a response. Empty if the list is missing. */
function listed(answer: unknown, name: string): readonly Described[] {
  const all = isObject(answer) ? answer[name] : undefined;
  return Array.isArray(all) ? all.filter(isObject) : [];
}

/** True if nothing listens at the address, so no hub is running. */
export function isAbsent(error: unknown): boolean {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONNECT_FAILED') return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/** Replaces REST calls in a message with the equivalent commands. */
const inCommands = (message: string) =>
  message.replaceAll(/\bPOST \/servers\/([\w-]+)\/((?:re)?start)\b/g, '"agenthub $2 $1"');

const isCode = (value: unknown): value is Code =>
  typeof value === 'string' && Object.hasOwn(codes, value);

/** The base URL of the hub, without a trailing slash. */
function baseOf(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new HubError(
      'HUB_USAGE',
      `--url: ${JSON.stringify(text)} is not allowed: write the hub's address, such as http://localhost:9090`,
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/mcp$/, '')}`;
}
