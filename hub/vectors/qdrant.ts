import { type Clock, type Log, messageOf } from '#core';
import { type Ask, type QdrantAddress, createQdrantLink, refusalOf } from './qdrant-link.ts';
import { collectionsIn, countIn, nearIn, pointIdsIn, schemaIn } from './qdrant-wire.ts';
import { type Vectors, dimensionFailure, fieldsOf, unitOf } from './vectors.ts';

export type QdrantOptions = QdrantAddress & {
  /** What all collections of the hub begin with; `agenthub-` unless given. */
  readonly prefix?: string;
  /** A look-up that takes longer is given up; 1 s unless given. */
  readonly nearMs?: number;
  /** Anything else that takes longer is given up; 5 s unless given. */
  readonly writeMs?: number;
};

/** What a filter goes by, or an order, and so has an index in every collection. */
const indexes = {
  scope: { type: 'keyword', is_tenant: true },
  tag: { type: 'keyword' },
  expires_at: { type: 'integer' },
  // When a point was put. It is ours: nobody else sees it.
  put_at: { type: 'integer' },
} as const;

/** So many points are removed by their ids at once. */
const removalsAtOnce = 256;
/** So often what has expired is removed; until then it is only not found. */
const sweepMs = 600_000;
/** Of so many collections it is known that they are ready; of more it is found out again. */
const maxReady = 64;

/**
 * Keeps points in Qdrant 1.10 or later, where any number of hubs may share them. Collections are made as
 * they are needed. The bound of a scope holds whoever puts: only what is not among the latest is removed.
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

  /** Letters, digits, `_`, `.` and `-` stand for themselves; Qdrant allows few others. */
  const nameOf = (collection: string) =>
    prefix +
    collection.replaceAll(
      /[^\w.-]/g,
      sign => `~${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );

  const ours = async (ask: Ask) =>
    collectionsIn(await ask((api, init) => api.getCollections({}, init))).filter(name =>
      name.startsWith(prefix),
    );

  const countOf = async (ask: Ask, name: string, filter: Filter) =>
    countIn(
      await ask((api, init) =>
        api.countPoints({ collection_name: name, filter, exact: true }, init),
      ),
    );

  const removeWhere = async (
    ask: Ask,
    name: string,
    which: { filter: Filter } | { points: string[] },
  ) =>
    void (await ask((api, init) =>
      api.deletePoints({ collection_name: name, wait: true, ...which }, init),
    ));

  /** Makes the collection and its indexes, as far as no other hub has. */
  async function prepare(ask: Ask, name: string, size: number): Promise<void> {
    const read = async () =>
      schemaIn(await ask((api, init) => api.getCollection({ collection_name: name }, init)));
    const found = await unless(404, read());
    if (!found)
      await unless(
        409,
        ask((api, init) =>
          api.createCollection(
            {
              collection_name: name,
              vectors: { size, distance: 'Cosine' },
              on_disk_payload: true,
            },
            init,
          ),
        ),
      );
    const { dimensions, indexed } = found ?? (await read());
    if (dimensions !== size) throw dimensionFailure(name, { has: dimensions, got: size });
    for (const [field, schema] of Object.entries(indexes))
      if (!indexed.includes(field))
        await ask((api, init) =>
          api.createFieldIndex(
            { collection_name: name, wait: true, field_name: field, field_schema: schema },
            init,
          ),
        );
    if (ready.size >= maxReady) ready.clear();
    ready.add(name);
  }

  /** Removes what is beyond the latest `max` of a scope, as Qdrant sees it at that moment. */
  async function trim(ask: Ask, name: string, scope: string, max: number): Promise<void> {
    const filter = { must: [inScope(scope)] };
    if ((await countOf(ask, name, filter)) <= max) return;
    for (;;) {
      const beyond = await ask((api, init) =>
        api.queryPoints(
          {
            collection_name: name,
            query: { order_by: { key: 'put_at', direction: 'desc' } },
            filter,
            offset: max,
            limit: removalsAtOnce,
            with_payload: false,
          },
          init,
        ),
      );
      const ids = pointIdsIn(beyond);
      if (ids.length > 0) await removeWhere(ask, name, { points: [...ids] });
      if (ids.length < removalsAtOnce) return;
    }
  }

  async function sweep(ask: Ask): Promise<void> {
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
      const upsert = (ask: Ask) =>
        ask((api, init) => api.upsertPoints({ collection_name: name, wait: true, points }, init));
      await link.within(writeMs, signal, async ask => {
        if (!ready.has(name)) await prepare(ask, name, vector.length);
        if ((await unless(404, upsert(ask))) === undefined) {
          // Somebody has removed the collection.
          await prepare(ask, name, vector.length);
          await upsert(ask);
        }
        await trim(ask, name, scope, maxPerScope);
      });
      try {
        await link.within(writeMs, signal, sweep);
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'what has expired is not removed from Qdrant');
      }
    },
    async near(collection, vector, { scope, limit, minScore }, signal) {
      if (limit < 1) return [];
      const query = Array.from(unitOf(vector));
      const live = { key: 'expires_at', range: { gt: clock.now() } };
      const found = await link.within(nearMs, signal, ask =>
        unless(
          404,
          ask((api, init) =>
            api.queryPoints(
              {
                collection_name: nameOf(collection),
                query,
                filter: { must: [inScope(scope), live] },
                params: { exact: true },
                score_threshold: minScore,
                limit,
                with_payload: true,
              },
              init,
            ),
          ),
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
    async stats() {
      const filter = { must: [{ key: 'expires_at', range: { gt: clock.now() } }] };
      try {
        const entries = await link.within(nearMs, undefined, async ask => {
          let sum = 0;
          for (const name of await ours(ask))
            sum += (await unless(404, countOf(ask, name, filter))) ?? 0;
          return sum;
        });
        return { backend: 'qdrant', status: 'up', entries, error: undefined };
      } catch (error) {
        const reason = messageOf(error);
        return { backend: 'qdrant', status: 'down', entries: undefined, error: reason };
      }
    },
  };
}

type Condition =
  | { key: string; match: { value: string } }
  | { key: string; range: { gt?: number; gte?: number; lte?: number } };
type Filter = { must: Condition[] };

const inScope = (scope: string) => ({ key: 'scope', match: { value: scope } });

/** Each point of ours has a time. A filter by it can be answered from an index, and an empty one cannot. */
const everything: Filter = { must: [{ key: 'expires_at', range: { gte: 0 } }] };

/** Undefined where Qdrant refuses with this status: 404 for what is not there, 409 for what is. */
async function unless<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (refusalOf(error) === status) return undefined;
    throw error;
  }
}
