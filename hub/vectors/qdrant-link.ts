import type { QdrantClient } from '@qdrant/js-client-rest';
import { type Clock, createAbortScope, isObject, messageOf } from '#core';
import { type Near, VectorsFailure, type VectorsFailureKind } from './vectors.ts';

export type QdrantAddress = {
  /** May have a path, for a proxy. The default port is 6333, as in all clients of Qdrant. */
  readonly url: string;
  readonly apiKey?: string;
};

type Api = ReturnType<QdrantClient['api']>;

/** Makes one call, and resolves with the unchecked `result` of the answer. */
export type QdrantAsk = <Body>(
  method: (
    api: Api,
  ) => (body: Body, init: { readonly signal: AbortSignal }) => Promise<QdrantAnswer>,
  body: NoInfer<Body>,
) => Promise<unknown>;

type QdrantAnswer = { readonly data: unknown };

/** Pause after a timeout, in which Qdrant is not called: each caller would wait for the timeout again. */
const restMs = 2_000;
/** Maximum length of a message of Qdrant in a failure. */
const maxReason = 300;

/** Calls to one Qdrant, each with a timeout. Loads the client, and Node's fetch with it, at the first call. */
export function createQdrantLink(
  { url, apiKey }: QdrantAddress,
  { clock }: { readonly clock: Clock },
) {
  const { host } = new URL(url);
  const stopping = new AbortController();
  let client: Promise<Api> | undefined;
  let restsUntil = -Infinity;

  function load(): Promise<Api> {
    return (client ??= import('@qdrant/js-client-rest').then(({ QdrantClient: Client }) =>
      new Client({
        ...addressOf(url),
        // As a header: given a key and a URL without https, the client prints a warning.
        headers: apiKey === undefined ? {} : { 'api-key': apiKey },
        // The check would ask for the version at once, and print a warning where it fails.
        checkCompatibility: false,
        // With a timeout the client replaces the signal of a call by one of its own.
        timeout: Infinity,
      }).api(),
    ));
  }

  return {
    /**
     * Runs `work` and its calls, with one timeout for all of them. Rejects with a VectorsFailure. For a while after a
     * timeout, Qdrant is not called, and this rejects at once.
     */
    async within<T>(
      withinMs: number,
      signal: AbortSignal | undefined,
      work: (ask: QdrantAsk) => Promise<T>,
    ): Promise<T> {
      using scope = createAbortScope([stopping.signal, ...(signal ? [signal] : [])], {
        clock,
        limitMs: withinMs,
      });
      const ended = () => {
        if (signal?.aborted)
          return new VectorsFailure('cancelled', 'the call to Qdrant was cancelled');
        if (stopping.signal.aborted)
          return new VectorsFailure('stopped', 'the semantic cache has stopped');
        restsUntil = clock.monotonic() + restMs;
        return new VectorsFailure('timeout', `${host} did not answer within ${withinMs} ms`);
      };
      if (scope.signal.aborted) throw ended();
      if (clock.monotonic() < restsUntil)
        throw new VectorsFailure(
          'timeout',
          `${host} did not answer in time a moment ago, and is not called for ${restMs / 1000} s`,
        );
      try {
        const api = await load();
        return await work(async (method, body) => resultOf(await method(api)(body, scope), host));
      } catch (error) {
        if (scope.signal.aborted) throw ended();
        throw error instanceof VectorsFailure ? error : failureOf(error, host);
      }
    },
    /** Cancels all calls, and refuses later ones. */
    stop: () => stopping.abort(),
  };
}

/** The HTTP status of a refusal by Qdrant; undefined for other errors, such as those of a proxy. */
export function refusalOf(error: unknown): number | undefined {
  const cause = error instanceof VectorsFailure ? error.cause : error;
  return reasonIn(dataOf(cause)) === undefined ? undefined : statusOf(cause);
}

/** The address as the client takes it: the path by itself, and `null` for the default port of the protocol. */
function addressOf(text: string): { url: string; prefix?: string; port?: null } {
  const { origin, pathname } = new URL(text);
  const prefix = pathname.replace(/\/+$/, '');
  const namesPort = /^https?:\/\/(?:[^/?#]*@)?(?:\[[^\]]*\]|[^/?#:]*):\d/i.test(text);
  return {
    url: origin,
    ...(prefix === '' ? {} : { prefix }),
    ...(namesPort ? { port: null } : {}),
  };
}

function resultOf({ data }: QdrantAnswer, host: string): unknown {
  if (isObject(data) && Object.hasOwn(data, 'result')) return data['result'];
  throw notQdrant(host);
}

const notQdrant = (host: string, cause?: unknown) =>
  new VectorsFailure(
    'malformed',
    `${host} answers, but not as Qdrant does. Is QDRANT_URL the address of a Qdrant, and of its port for HTTP?`,
    { cause },
  );

/** Statuses that Qdrant, or a proxy in front of it, sends without a reason in the usual format. */
const bareStatuses = [401, 403, 429, 502, 503, 504, 507];

function failureOf(error: unknown, host: string): VectorsFailure {
  const status = statusOf(error);
  // The client throws an error of another class for a 429 with Retry-After.
  if (error instanceof Error && error.name === 'QdrantClientResourceExhaustedError')
    return new VectorsFailure('full', `${host}: 429: too many requests`, { cause: error });
  if (status === undefined)
    return error instanceof TypeError
      ? new VectorsFailure('unreachable', `${host}: ${messageOf(error)}`, { cause: error })
      : notQdrant(host, error);
  const said = reasonIn(dataOf(error));
  if (said === undefined && !bareStatuses.includes(status)) return notQdrant(host, error);
  const reason = said ?? 'no reason is given';
  const remedy =
    status === 401 || status === 403 ? '. Set QDRANT_API_KEY to a key that may write' : '';
  return new VectorsFailure(
    kindOf(status, reason),
    `${host}: ${status}: ${reason.slice(0, maxReason)}${remedy}`,
    { cause: error },
  );
}

function kindOf(status: number, reason: string): VectorsFailureKind {
  if ([429, 507].includes(status)) return 'full';
  if ([502, 503, 504].includes(status)) return 'unreachable';
  return status === 400 && /dimension/i.test(reason) ? 'dimension' : 'refused';
}

function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

const dataOf = (error: unknown): unknown =>
  error instanceof Error && 'data' in error ? error.data : undefined;

/** The reason in an error of Qdrant: `{"status": {"error": "..."}}`. A missing key is answered in plain text. */
function reasonIn(data: unknown): string | undefined {
  const status = childOf(data, 'status');
  const reason = childOf(status, 'error');
  return isText(reason) ? reason : undefined;
}

/** The names of all collections. This and the following functions throw a VectorsFailure for an unexpected answer. */
export const collectionsIn = (result: unknown): readonly string[] =>
  fieldOf(result, 'collections', isList).map(entry => fieldOf(entry, 'name', isText));

/** The dimensions of a collection, and the payload fields that have an index. */
export function schemaIn(result: unknown) {
  const vectors = ['config', 'params', 'vectors'].reduce(childOf, result);
  return {
    dimensions: fieldOf(vectors, 'size', isNumber, 'config.params.vectors.size'),
    indexed: Object.keys(childOf(result, 'payload_schema') ?? {}),
  };
}

export const countIn = (result: unknown): number => fieldOf(result, 'count', isNumber);

/** The ids of points. Ids that are not strings are skipped: the hub puts none. */
export const pointIdsIn = (result: unknown): readonly string[] =>
  fieldOf(result, 'points', isList)
    .map(point => childOf(point, 'id'))
    .filter(isText);

/** Points with a score above `minScore`, without the field that the hub adds to payloads. */
export function nearIn(result: unknown, minScore: number): readonly Near[] {
  return fieldOf(result, 'points', isList).flatMap(point => {
    const score = fieldOf(point, 'score', isNumber);
    // Qdrant rounds the bound to 32 bits, and a cosine may be above 1 by rounding.
    if (!(score > minScore)) return [];
    const { put_at: _, ...payload } = fieldOf(point, 'payload', isObject);
    const entries = Object.keys(payload).map(
      key => [key, fieldOf(payload, key, isTextOrNumber, `payload.${key}`)] as const,
    );
    const id = fieldOf(point, 'id', isText);
    return [{ id, score: Math.min(1, score), payload: Object.fromEntries(entries) }];
  });
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
const isTextOrNumber = (value: unknown) => typeof value === 'string' || typeof value === 'number';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

function fieldOf<T>(
  value: unknown,
  key: string,
  isRight: (found: unknown) => found is T,
  name = key,
): T {
  const found = childOf(value, key);
  if (isRight(found)) return found;
  throw new VectorsFailure(
    'malformed',
    `Qdrant answers without ${name}, or with one that is not as described`,
  );
}

const childOf = (value: unknown, key: string): unknown =>
  isObject(value) ? value[key] : undefined;
