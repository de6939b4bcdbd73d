import type { IncomingMessage } from 'node:http';
import { baseOf, refused, unreachable } from '#connector';
import { type ErrorData, HubError, http, https, isCode, isObject, tryParseJson } from '#core';
import type { Run } from './command.ts';
import type { HubPlace } from './needs.ts';
import type { OwnerAccess } from './owner.ts';
import {
  type Described,
  type HubEvent,
  fieldsOf,
  objectsIn,
  readEvents,
  readWhole,
} from './responses.ts';
import type { Io } from './terminal.ts';
import { guess, textOf, usageError } from './values.ts';

type HubRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query, relative to the URL of the hub. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body, which is sent as JSON. */
  readonly body?: unknown;
  /** Aborts this request. Default: the signal of the command. */
  readonly signal?: AbortSignal;
};

/** Paths that only the owner may GET. */
const ownersReads =
  /^\/(?:agents\/|jobs\/[^/]+$|servers\/[^/]+\/log|(?:approvals|audit|call-token|catalog|clients|logs|pins|policy|secrets|upgrades)\b)/;
/** Part of the WWW-Authenticate header if a request needs the owner's key, not only a token for calls. */
const administers = 'scope="administer"';
/**
 * True for 401, and for 429 with a WWW-Authenticate header: after too many wrong tokens from this address, the hub
 * answers 429 but still accepts the right key.
 */
const isUnauthorized = ({ statusCode, headers }: IncomingMessage) =>
  statusCode === 401 || (statusCode === 429 && headers['www-authenticate'] !== undefined);
const isRefusal = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 400;
const connectMs = 10_000;
/** Paths that a hub answers at once, because it has the answer in memory. */
const instantReads =
  /^\/(?:agents|approvals|call-token|clients|health|jobs|pins|policy|servers|tasks)(?:\?|$)/;
/** Maximum time until the response to such a request begins, in ms: a hub that hangs accepts connections. */
const responseMs = 20_000;

/** Finds the hub that the command line names. Rejects with HubError for an address that is not that of a hub. */
export async function findNamedHub({ values, needs }: Run): Promise<HubPlace> {
  const url = textOf(values, 'url');
  if (url !== undefined) refuseEndpoint(url);
  return await needs.findHub(url);
}

/** Creates a client for the hub that the command line names. Rejects as `findNamedHub` does. */
export const openHub = async (run: Run): Promise<HubClient> =>
  createHubClient(await findNamedHub(run), run);

/**
 * Throws HUB_USAGE if the URL is that of one server or profile: other addresses of the hub are built by appending to its
 * own. `takesOption` is true if the command has the options `--server` and `--profile`.
 */
export function refuseEndpoint(url: string, takesOption = false): void {
  const [, base, isProfile, name] = /^(.+)\/(?:mcp|sse)\/(@|%40)?([^/?#]+)\/*$/.exec(url) ?? [];
  if (name === undefined) return;
  const what = isProfile ? 'profile' : 'server';
  const option = takesOption ? ` --${what} ${name}` : '';
  throw usageError(
    `--url: ${JSON.stringify(url)} is the address of one ${what}: write --url ${base}${option}`,
  );
}

/**
 * Client of a hub's HTTP API. All methods reject with HUB_CONNECT_FAILED if no hub answers or the hub does not admit
 * the client, and with the hub's error if it refuses the request.
 */
export type HubClient = ReturnType<typeof createHubClient>;

/** Creates a client of a hub. The signal aborts all its requests. Throws HUB_USAGE for an invalid address. */
export function createHubClient(
  { url, token, certificate, ownerAccess, runningAccess }: HubPlace,
  { signal: ending, clock }: Pick<Io, 'signal' | 'clock'>,
) {
  const base = baseOf(url);

  /** True if calls need a token. Requested once, if this user has none. */
  let callsNeedToken: Promise<boolean> | undefined;

  /**
   * Returns the owner's key for a request that the hub would refuse without it; undefined if it may not be needed, or
   * if its hub is not known. MCP requests use the key only if calls need a token and this user has none.
   */
  async function keyFor({
    method,
    path,
    signal = ending,
  }: HubRequest): Promise<OwnerAccess | undefined> {
    const isMcp = path.startsWith('/mcp');
    if (isMcp && token !== undefined) return undefined;
    const own = await runningAccess?.().catch(() => undefined); // If the hub requires the key, `ownerAccess` reports the error.
    // Changes and some reads need the key. Do not try without it: a hub in compose would record the refused request.
    if (!own && !isMcp && (method !== 'GET' || ownersReads.test(path)))
      return await ownerAccess?.(signal).catch(() => undefined); // Without the key, the hub refuses the request.
    if (!own || !isMcp) return own;
    callsNeedToken ??= askIfCallsNeedToken(own);
    return (await callsNeedToken) ? own : undefined;
  }

  async function askIfCallsNeedToken({ key, dial }: OwnerAccess): Promise<boolean> {
    const answer = await request({ method: 'GET', path: '/clients' }, key, dial);
    const state = fieldsOf(tryParseJson(await readWhole(answer)));
    return state['calls_need_token'] === true;
  }

  /**
   * Sends a request, again with the owner's key if the hub requires it. Returns the response with any status but 401.
   */
  async function send(hubRequest: HubRequest): Promise<IncomingMessage> {
    const own = await keyFor(hubRequest);
    const answer = await request(hubRequest, own?.key ?? token, own?.dial);
    if (!isUnauthorized(answer)) return answer;
    // Destroy an unread response: it would keep the connection open, and so the process alive, until the hub closes it.
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

  /** Sends a request with a bearer token. A refused request has no effect, so callers may repeat it. */
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
      ...(isSecure && certificate),
      ...(dial && !isSecure && { hostname: dial.host, port: dial.port }),
      headers: {
        host: target.host,
        accept: 'application/json',
        ...(text !== undefined && {
          'content-type': 'application/json',
          // Set the length explicitly, because Node adds none to the body of a DELETE.
          'content-length': Buffer.byteLength(text),
        }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
    });
    using timer = clock.after(connectMs, () => sent.destroy(new Error('it does not answer')));
    const isInstant = method === 'GET' && instantReads.test(path);
    using _silence = isInstant
      ? clock.after(responseMs, () => sent.destroy(silent(url)))
      : undefined;
    sent.once('socket', socket => {
      if (!socket.connecting) timer[Symbol.dispose]();
      else socket.once('connect', () => timer[Symbol.dispose]());
    });
    sent.once('response', resolve);
    sent.once('error', reject);
    // Node ends such a request with neither a response nor an error if nobody listens.
    sent.once('upgrade', ({ statusCode }, socket) => {
      socket.destroy();
      reject(new Error(`it answers ${statusCode}`));
    });
    sent.end(text);
    try {
      return await promise;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof HubError) throw error;
      throw unreachable({ url }, error);
    }
  }

  /** Returns the error in a response, or a generic error if the server is not a hub. */
  async function refusalOf(answer: IncomingMessage, text: string): Promise<HubError> {
    const problem = await errorOf(fieldsOf(tryParseJson(text))['error']);
    if (problem) return problem;
    return refused({ url, server: undefined }, answer.statusCode ?? 0, undefined);
  }

  /** Converts `{"code", "message", ...}` to an error; returns undefined for anything else. */
  async function errorOf(error: unknown): Promise<HubError | undefined> {
    const { code, message, ...data } = fieldsOf(error);
    if (typeof message !== 'string') return undefined;
    const text = code === 'HUB_SERVER_UNKNOWN' ? await withGuess(message, data) : message;
    return new HubError(isCode(code) ? code : 'HUB_INTERNAL', text, { data });
  }

  /** Adds the most similar server name to a message, if there is one. */
  async function withGuess(message: string, { server }: ErrorData): Promise<string> {
    if (server === undefined) return message;
    const servers = await listServers({ ask }).catch(() => []);
    const names = servers.map(({ name }) => String(name));
    return `${message}${guess(server, names, '.')}`;
  }

  async function ask(hubRequest: HubRequest): Promise<unknown> {
    const answer = await send(hubRequest);
    const text = await readWhole(answer);
    if (isRefusal(answer)) throw await refusalOf(answer, text);
    return tryParseJson(text);
  }

  /**
   * Yields events as they arrive. Rejects with the error of an error event, and with the signal's reason once it
   * aborts.
   */
  async function* follow(hubRequest: HubRequest): AsyncIterable<HubEvent> {
    const headers = { accept: 'text/event-stream', ...hubRequest.headers };
    const answer = await send({ ...hubRequest, headers });
    if (isRefusal(answer)) throw await refusalOf(answer, await readWhole(answer));
    try {
      for await (const event of readEvents(answer)) {
        if (event.type === 'error') throw await refusalOf(answer, event.data);
        yield event;
      }
    } catch (error) {
      // An aborted response looks like one that the hub closed, so check the signal first.
      (hubRequest.signal ?? ending).throwIfAborted();
      throw error;
    }
  }

  return { url, clock, send, ask, follow, errorOf };
}

const silent = (url: string) =>
  new HubError(
    'HUB_CONNECT_FAILED',
    `the hub at ${url} accepts connections, but has not answered for ${responseMs / 1000} s. Stop it and start it again, or name another with --url`,
    { data: { retryable: true } },
  );

/** Returns the server list of `GET /servers`. Rejects with the hub's error, or HUB_CONNECT_FAILED. */
export const listServers = async ({ ask }: Pick<HubClient, 'ask'>): Promise<readonly Described[]> =>
  objectsIn(fieldsOf(await ask({ method: 'GET', path: '/servers' }))['servers']);

/** Returns the jobs of `GET /jobs`, newest first. Rejects with the hub's error, or HUB_CONNECT_FAILED. */
export const listJobs = async ({ ask }: Pick<HubClient, 'ask'>): Promise<readonly Described[]> =>
  objectsIn(fieldsOf(await ask({ method: 'GET', path: '/jobs' }))['jobs']);

export const pathOfServer = (name: string) => `/servers/${encodeURIComponent(name)}`;

/** Interval between requests for the progress of a start, in ms. */
const pollIntervalMs = 500;

/**
 * Awaits `work` and shows the progress of the server's start on a terminal, because a first start may build an image
 * for minutes.
 */
export async function withStartProgress<Result>(
  work: Promise<Result>,
  hub: HubClient,
  server: string,
  { errorScreen, progress, clock }: Io,
): Promise<Result> {
  if (!errorScreen.isTerminal) return await work;
  let isOver = false;
  const show = (answer: unknown) => {
    if (!isOver && isObject(answer) && typeof answer['progress'] === 'string')
      progress(`${String(answer['name'])}: ${answer['progress']}`);
  };
  using timer = clock.after(pollIntervalMs, () => {
    void hub.ask({ method: 'GET', path: pathOfServer(server) }).then(show, () => {});
    timer.refresh();
  });
  try {
    return await work;
  } finally {
    isOver = true;
  }
}

/** True if no hub runs at the usual address, so that a command works with the files instead. False with `--url`. */
export const isWithoutHub = (error: unknown, { values }: Pick<Run, 'values'>): boolean =>
  isAbsent(error) && values['url'] === undefined;

/** True if nothing listens at the address, so no hub is running. */
export function isAbsent(error: unknown): boolean {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONNECT_FAILED') return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}
