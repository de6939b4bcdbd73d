import { type Clock, type Log, messageOf } from '#core';
import {
  type QdrantAddress,
  type QdrantAsk,
  collectionsIn,
  countIn,
  createQdrantLink,
  nearIn,
  pointIdsIn,
  refusalOf,
  schemaIn,
} from './qdrant-link.ts';
import { type Vectors, dimensionFailure, fieldsOf, statsOf, unitOf } from './vectors.ts';

export type QdrantOptions = QdrantAddress & {
  /** Prefix of the collections of the hub; `agenthub-` by default. */
  readonly prefix?: string;
  /** Timeout of a look-up; 1 s by default. */
  readonly nearMs?: number;
  /** Timeout of other calls; 5 s by default. */
  readonly writeMs?: number;
};

/** Fields used by filters or sorting. Each has an index in every collection. */
const indexes = {
  scope: { type: 'keyword', is_tenant: true },
  tag: { type: 'keyword' },
  expires_at: { type: 'integer' },
  // When the point was put. Only this file sees it: results leave it out.
  put_at: { type: 'integer' },
} as const;

const removalsAtOnce = 256;
/** Interval of removing expired points, in ms. Look-ups skip them before that. */
const sweepMs = 600_000;
/** Maximum number of collections remembered as prepared. */
const maxReady = 64;

/**
 * Keeps points in Qdrant 1.10 or later. Several hubs may share them. Collections are created on demand. The
 * bound of a scope holds across hubs: each removes only points that are not among the newest.
 */
export function createQdrantVectors(
  options: QdrantOptions,
  needs: { readonly clock: Clock; readonly log: Log },
): Vectors {
  const { prefix = 'agenthub-', nearMs = 1_000, writeMs = 5_000 } = options;
  const { clock, log } = needs;
  const link = createQdrantLink(options, needs);
  const ready = new Set<string>();
  let lastPut = 0;
  let sweepAt = -Infinity;

  /** Escapes all characters but letters, digits, `_`, `.` and `-`: Qdrant allows few others. */
  const nameOf = (collection: string) =>
    prefix +
    collection.replaceAll(
      /[^\w.-]/g,
      sign => `~${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );

  const isLive = () => ({ key: 'expires_at', range: { gt: clock.now() } });

  const ours = async (ask: QdrantAsk) =>
    collectionsIn(await ask(api => api.getCollections, {})).filter(name => name.startsWith(prefix));

  const countOf = async (ask: QdrantAsk, name: string, filter: Filter) =>
    countIn(await ask(api => api.countPoints, { collection_name: name, filter, exact: true }));

  const removeWhere = async (
    ask: QdrantAsk,
    name: string,
    which: { filter: Filter } | { points: string[] },
  ) => void (await ask(api => api.deletePoints, { collection_name: name, wait: true, ...which }));

  /** Creates the collection and its indexes where they are missing. */
  async function prepare(ask: QdrantAsk, name: string, size: number): Promise<void> {
    const collection = { collection_name: name };
    const read = async () => schemaIn(await ask(api => api.getCollection, collection));
    const found = await unless(404, read());
    const vectors = { size, distance: 'Cosine' } as const;
    const wanted = { ...collection, vectors, on_disk_payload: true };
    if (!found)
      await unless(
        409,
        ask(api => api.createCollection, wanted),
      );
    const { dimensions, indexed } = found ?? (await read());
    if (dimensions !== size) throw dimensionFailure(name, { has: dimensions, got: size });
    for (const [field, schema] of Object.entries(indexes)) {
      const index = { ...collection, wait: true, field_name: field, field_schema: schema };
      if (!indexed.includes(field)) await ask(api => api.createFieldIndex, index);
    }
    if (ready.size >= maxReady) ready.clear();
    ready.add(name);
  }

  /** Removes the points of a scope that are not among its newest `max`. */
  async function trim(ask: QdrantAsk, name: string, scope: string, max: number): Promise<void> {
    const filter = { must: [inScope(scope)] };
    if ((await countOf(ask, name, filter)) <= max) return;
    for (;;) {
      const beyond = await ask(api => api.queryPoints, {
        collection_name: name,
        query: { order_by: { key: 'put_at', direction: 'desc' } },
        filter,
        offset: max,
        limit: removalsAtOnce,
        with_payload: false,
      });
      const ids = pointIdsIn(beyond);
      if (ids.length > 0) await removeWhere(ask, name, { points: [...ids] });
      if (ids.length < removalsAtOnce) return;
    }
  }

  async function sweep(ask: QdrantAsk): Promise<void> {
    if (clock.monotonic() < sweepAt) return;
    sweepAt = clock.monotonic() + sweepMs;
    const filter = { must: [{ key: 'expires_at', range: { lte: clock.now() } }] };
    for (const name of await ours(ask)) await unless(404, removeWhere(ask, name, { filter }));
  }

  return {
    name: 'vectors',
    async start() {},
    async stop() {
      link.stop();
    },
    async put(collection, point, { scope, maxPerScope }, signal) {
      fieldsOf(point, scope);
      const vector = Array.from(unitOf(point.vector));
      const name = nameOf(collection);
      lastPut = Math.max(lastPut + 1, clock.now());
      const points = [{ id: point.id, vector, payload: { ...point.payload, put_at: lastPut } }];
      const upsert = (ask: QdrantAsk) =>
        ask(api => api.upsertPoints, { collection_name: name, wait: true, points });
      await link.within(writeMs, signal, async ask => {
        if (!ready.has(name)) await prepare(ask, name, vector.length);
        if ((await unless(404, upsert(ask))) === undefined) {
          // The collection was removed by someone else.
          await prepare(ask, name, vector.length);
          await upsert(ask);
        }
        await trim(ask, name, scope, maxPerScope);
      });
      try {
        await link.within(writeMs, signal, sweep);
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'expired points could not be removed from Qdrant');
      }
    },
    async near(collection, vector, { scope, limit, minScore }, signal) {
      if (limit < 1) return [];
      const query = Array.from(unitOf(vector));
      const search = {
        collection_name: nameOf(collection),
        query,
        filter: { must: [inScope(scope), isLive()] },
        params: { exact: true },
        score_threshold: minScore,
        limit,
        with_payload: true,
      };
      const found = await link.within(nearMs, signal, ask =>
        unless(
          404,
          ask(api => api.queryPoints, search),
        ),
      );
      return found === undefined ? [] : nearIn(found, minScore);
    },
    async remove(collection, ids) {
      await link.within(writeMs, undefined, async ask => {
        for (let from = 0; from < ids.length; from += removalsAtOnce) {
          const points = ids.slice(from, from + removalsAtOnce);
          await unless(404, removeWhere(ask, nameOf(collection), { points }));
        }
      });
    },
    async removeTag(tag) {
      const filter =
        tag === undefined ? everything : { must: [{ key: 'tag', match: { value: tag } }] };
      return await link.within(writeMs, undefined, async ask => {
        let removed = 0;
        for (const name of await ours(ask)) {
          removed += (await unless(404, countOf(ask, name, filter))) ?? 0;
          await unless(404, removeWhere(ask, name, { filter }));
        }
        return removed;
      });
    },
    stats: () =>
      statsOf('qdrant', () =>
        link.within(nearMs, undefined, async ask => {
          const filter = { must: [isLive()] };
          let sum = 0;
          for (const name of await ours(ask))
            sum += (await unless(404, countOf(ask, name, filter))) ?? 0;
          return sum;
        }),
      ),
  };
}

type Condition =
  | { key: string; match: { value: string } }
  | { key: string; range: { gt?: number; gte?: number; lte?: number } };
type Filter = { must: Condition[] };

const inScope = (scope: string) => ({ key: 'scope', match: { value: scope } });

/** Matches all points: each has an expiry. Unlike an empty filter, it is answered from an index. */
const everything: Filter = { must: [{ key: 'expires_at', range: { gte: 0 } }] };

/** Resolves with undefined where Qdrant refuses with this status: 404 for a missing thing, 409 for an existing one. */
async function unless<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (refusalOf(error) === status) return undefined;
    throw error;
  }
}
