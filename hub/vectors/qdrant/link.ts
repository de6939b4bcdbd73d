import type { QdrantClient } from '@qdrant/js-client-rest';
import { type Clock, type Log, createAbortScope, isObject } from '#core';
import { type Operation, createOutcomes } from '../outcomes.ts';
import { VectorsFailure } from '../vectors.ts';
import { versionIn } from './answers.ts';
import { failureOf, notQdrant, statusOf } from './failures.ts';

export type QdrantAddress = {
  /** URL of Qdrant, with a path if it is behind a proxy. Default port: 6333, as in all Qdrant clients. */
  readonly url: string;
  readonly apiKey?: string;
};

type Api = ReturnType<QdrantClient['api']>;

/** Makes one call, and resolves with the unchecked `result` of the response. Rejects with a VectorsFailure. */
export type QdrantAsk = <Body>(
  method: (
    api: Api,
  ) => (body: Body, init: { readonly signal: AbortSignal }) => Promise<QdrantAnswer>,
  body: NoInfer<Body>,
) => Promise<unknown>;

type QdrantAnswer = { readonly data: unknown };

type Limits = {
  /** Kind of operation whose outcome is recorded; undefined to record none. */
  readonly operation?: Operation;
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** Pause in calls to Qdrant after a timeout, in ms, so that not every caller waits for the timeout. */
const restMs = 2_000;
/** Oldest Qdrant version that accepts the hub's indexes. */
const minVersion = '1.10.1';

/** Creates a connection to Qdrant whose calls have timeouts. The first call loads the client and Node's fetch. */
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
          // Compressed responses are sent in two parts, the second only after a delayed acknowledgement (40 ms) of the
          // first.
          'accept-encoding': 'identity',
          // Set as a header, because the client prints a warning if it gets a key and a URL without https.
          ...(apiKey !== undefined && { 'api-key': apiKey }),
        },
        // Disabled, because the check prints a warning if it fails.
        checkCompatibility: false,
        // With a timeout, the client would replace the signal of each call by its own.
        timeout: Infinity,
      }).api(),
    ));
  }

  /** Requests the version of Qdrant: before the first call, and before the first call after an outage. */
  async function readVersion(api: Api, signal: AbortSignal): Promise<void> {
    let version: string | undefined;
    try {
      version = versionIn((await api.root({}, { signal })).data);
    } catch (error) {
      // A proxy may refuse only this path, so an error status is ignored.
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
     * Runs `work` and all its calls with one timeout. Rejects with a VectorsFailure. After a timeout of anything but a
     * count, calls reject at once for `restMs`.
     */
    async within<T>(
      { operation, withinMs, signal }: Limits,
      work: (ask: QdrantAsk) => Promise<T>,
    ): Promise<T> {
      // Loaded before the timeout starts: loading the client takes long on a busy machine, and is not the fault of
      // Qdrant.
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
        // A count reads all collections, so a look-up in one of them may still be fast enough.
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
        // Another version of Qdrant may be running when it is back.
        if (failure.kind === 'unreachable') hasVersion = false;
        if (operation) outcomes.failed(operation, failure);
        throw failure;
      }
    },
    /** Version of Qdrant, for the statistics; undefined until Qdrant has answered. */
    get detail() {
      return detail;
    },
    outcomes,
    /** Cancels all calls, and refuses later ones. */
    stop: () => stopping.abort(),
  };
}

/** Splits the address into options of the client. `port: null` if the URL names one: otherwise the client uses 6333. */
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
