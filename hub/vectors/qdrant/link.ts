import type { QdrantClient } from '@qdrant/js-client-rest';
import { type Clock, type Log, createAbortScope, isObject } from '#core';
import { type Operation, createOutcomes } from '../outcomes.ts';
import { VectorsFailure } from '../vectors.ts';
import { versionIn } from './answers.ts';
import { failureOf, notQdrant, statusOf } from './failures.ts';

export type QdrantAddress = {
  /** May have a path, for a proxy. The default port is 6333, as in all clients of Qdrant. */
  readonly url: string;
  readonly apiKey?: string;
};

type Api = ReturnType<QdrantClient['api']>;

/** Makes one call, and resolves with the unchecked `result` of the answer. Rejects with a VectorsFailure. */
export type QdrantAsk = <Body>(
  method: (
    api: Api,
  ) => (body: Body, init: { readonly signal: AbortSignal }) => Promise<QdrantAnswer>,
  body: NoInfer<Body>,
) => Promise<unknown>;

type QdrantAnswer = { readonly data: unknown };

type Limits = {
  /** Undefined: the outcome does not count. */
  readonly operation?: Operation;
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** Pause after a timeout, in which Qdrant is not called: each caller would wait for the timeout again. */
const restMs = 2_000;
/** The oldest version that accepts the indexes of the hub. */
const minVersion = '1.10.1';

/** Calls to one Qdrant, each with a timeout. Loads the client, and Node's fetch with it, at the first call. */
export function createQdrantLink(
  { url, apiKey }: QdrantAddress,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  const address = new URL(url);
  const { host } = address;
  const stopping = new AbortController();
  const outcomes = createOutcomes(log, 'Qdrant');
  let client: Promise<Api> | undefined;
  let restsUntil = -Infinity;
  let hasVersion = false;
  let detail: string | undefined;

  function load(): Promise<Api> {
    return (client ??= import('@qdrant/js-client-rest').then(({ QdrantClient: Client }) =>
      new Client({
        ...addressOf(url),
        headers: {
          // Compressed answers are written in two parts: the second waits 40 ms for the acknowledgement of the first.
          'accept-encoding': 'identity',
          // As a header: given a key and a URL without https, the client prints a warning.
          ...(apiKey !== undefined && { 'api-key': apiKey }),
        },
        // The check would print a warning where it fails.
        checkCompatibility: false,
        // With a timeout the client replaces the signal of a call by one of its own.
        timeout: Infinity,
      }).api(),
    ));
  }

  /** Asks for the version before the first call, and before the first one after an outage. */
  async function readVersion(api: Api, signal: AbortSignal): Promise<void> {
    let version: string | undefined;
    try {
      version = versionIn((await api.root({}, { signal })).data);
    } catch (error) {
      // A proxy may refuse this path alone.
      if (statusOf(error) === undefined) throw failureOf(error, address);
    }
    hasVersion = true;
    const isOld = version?.localeCompare(minVersion, 'en', { numeric: true }) === -1;
    const remedy = isOld ? `: update it to ${minVersion} or later` : '';
    const next = version === undefined ? undefined : `Qdrant ${version}${remedy}`;
    if (isOld && next !== detail)
      log.warn({ version, needed: minVersion }, 'this Qdrant is too old: update it');
    detail = next;
  }

  return {
    /**
     * Runs `work` and its calls, with one timeout for all of them. Rejects with a VectorsFailure. For a while after a
     * timeout of anything but a count, Qdrant is not called, and this rejects at once.
     */
    async within<T>(
      { operation, withinMs, signal }: Limits,
      work: (ask: QdrantAsk) => Promise<T>,
    ): Promise<T> {
      // Before the limit starts: loading the client takes long on a busy machine, and says nothing about Qdrant.
      const api = await load();
      using scope = createAbortScope([stopping.signal, ...(signal ? [signal] : [])], {
        clock,
        limitMs: withinMs,
      });
      const ended = () => {
        if (signal?.aborted)
          return new VectorsFailure('cancelled', 'the call to Qdrant was cancelled');
        if (stopping.signal.aborted)
          return new VectorsFailure('stopped', 'the semantic cache has stopped');
        // A count goes over all collections: a look-up in one of them may still be in time.
        if (operation !== 'count') restsUntil = clock.monotonic() + restMs;
        return new VectorsFailure('timeout', `${host} did not answer within ${withinMs} ms`);
      };
      if (scope.signal.aborted) throw ended();
      if (clock.monotonic() < restsUntil)
        throw new VectorsFailure(
          'timeout',
          `${host} did not answer in time a moment ago, and is not called for ${restMs / 1000} s`,
        );
      try {
        if (!hasVersion) await readVersion(api, scope.signal);
        const result = await work(async (method, body) => {
          const { data } = await method(api)(body, scope).catch((error: unknown) => {
            throw failureOf(error, address);
          });
          if (isObject(data) && Object.hasOwn(data, 'result')) return data['result'];
          throw notQdrant(host);
        });
        if (operation) outcomes.succeeded(operation);
        return result;
      } catch (error) {
        const failure = scope.signal.aborted ? ended() : failureOf(error, address);
        // Another version may return.
        if (failure.kind === 'unreachable') hasVersion = false;
        if (operation) outcomes.failed(operation, failure);
        throw failure;
      }
    },
    /** The version of Qdrant; undefined until it answered. */
    get detail() {
      return detail;
    },
    outcomes,
    /** Cancels all calls, and refuses later ones. */
    stop: () => stopping.abort(),
  };
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
