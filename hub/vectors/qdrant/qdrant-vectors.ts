import { type Clock, type Log, messageOf } from '#core';
import { type Vectors, fieldsOf, statsOf, unitOf } from '../vectors.ts';
import { nearIn, pointIdsIn } from './answers.ts';
import {
  type PointCondition,
  type PointFilter,
  countPoints,
  createCollections,
} from './collections.ts';
import { unless } from './failures.ts';
import { type QdrantAddress, type QdrantAsk, createQdrantLink } from './link.ts';

export type QdrantOptions = QdrantAddress & {
  /** Name of the deployment. Each deployment has its own collections; default `agenthub`. */
  readonly deployment?: string;
};

/** Timeout of a look-up, in milliseconds. */
const nearMs = 1_000;
/** Timeout of other calls, in milliseconds. */
const writeMs = 5_000;
const removalsAtOnce = 256;
/** Minimum interval between removals of expired points, in ms. Look-ups skip expired points. */
const sweepMs = 600_000;

/**
 * Creates an index that keeps points in Qdrant 1.10.1 or later. Several hubs may share the points. Collections are
 * created on demand, and dropped when their last point is removed. The limit of a scope holds across hubs: each hub
 * removes only points that are not among the newest.
 */
export function createQdrantVectors(
  options: QdrantOptions,
  needs: { readonly clock: Clock; readonly log: Log },
): Vectors {
  const { deployment = 'agenthub' } = options;
  const { clock, log } = needs;
  const link = createQdrantLink(options, needs);
  const collections = createCollections(deployment, needs);
  let lastPut = 0;
  let sweepAt = -Infinity;

  const isLive = () => ({ key: 'expires_at', range: { gt: clock.now() } });

  /** Removes matching points, and drops empty collections. Resolves with the number of removed points. */
  async function removeMatching(ask: QdrantAsk, condition: PointCondition): Promise<number> {
    const filter = { must: [condition] };
    let removed = 0;
    for (const name of await collections.list(ask)) {
      const count = await countPoints(ask, name, filter);
      if (count > 0) await removeFrom(ask, name, { filter });
      await collections.dropEmpty(ask, name);
      removed += count;
    }
    return removed;
  }

  async function sweep(ask: QdrantAsk): Promise<void> {
    if (clock.monotonic() < sweepAt) return;
    sweepAt = clock.monotonic() + sweepMs;
    await removeMatching(ask, { key: 'expires_at', range: { lte: clock.now() } });
  }

  async function count(ask: QdrantAsk): Promise<number> {
    let sum = 0;
    for (const name of await collections.list(ask))
      sum += await countPoints(ask, name, { must: [isLive()] });
    return sum;
  }

  return {
    async start() {},
    async stop() {
      link.stop();
    },
    async put(collection, point, { scope, maxPerScope }, signal) {
      fieldsOf(point, scope);
      const vector = Array.from(unitOf(point.vector));
      const name = collections.nameOf(collection);
      lastPut = Math.max(lastPut + 1, clock.now());
      const points = [{ id: point.id, vector, payload: { ...point.payload, put_at: lastPut } }];
      const upsert = async (ask: QdrantAsk) => {
        await collections.prepare(ask, name, vector.length);
        return await ask(api => api.upsertPoints, { collection_name: name, wait: true, points });
      };
      await link.within({ operation: 'write', withinMs: writeMs, signal }, async ask => {
        // Another hub may drop the empty collection before the point is stored, so try twice.
        if ((await unless(404, upsert(ask))) === undefined) await upsert(ask);
        await trim(ask, name, scope, maxPerScope);
      });
      try {
        await link.within({ withinMs: writeMs, signal }, sweep);
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'expired points could not be removed from Qdrant');
      }
    },
    async near(collection, vector, { scope, limit, minScore }, signal) {
      if (limit < 1) return [];
      const name = collections.nameOf(collection);
      const search = {
        collection_name: name,
        query: Array.from(unitOf(vector)),
        filter: { must: [inScope(scope), isLive()] },
        params: { exact: true },
        score_threshold: minScore,
        limit,
        with_payload: true,
      };
      const limits = { operation: 'look-up', withinMs: nearMs, signal } as const;
      const found = await link.within(limits, async ask =>
        (await collections.isOurs(ask, name))
          ? await unless(
              404,
              ask(api => api.queryPoints, search),
            )
          : undefined,
      );
      return found === undefined ? [] : nearIn(found, minScore);
    },
    removeTag: tag =>
      link.within({ operation: 'write', withinMs: writeMs }, ask =>
        removeMatching(ask, tag === undefined ? any : { key: 'tag', match: { value: tag } }),
      ),
    async stats() {
      const counted = () => link.within({ operation: 'count', withinMs: nearMs }, count);
      const stats = await statsOf('qdrant', counted, link.outcomes);
      return { ...stats, ...(link.detail && { detail: link.detail }) };
    },
  };
}

const inScope = (scope: string) => ({ key: 'scope', match: { value: scope } });

/** Condition that matches all points of the hub: each has an expiry. */
const any: PointCondition = { key: 'expires_at', range: { gte: 0 } };

async function removeFrom(
  ask: QdrantAsk,
  name: string,
  which: { filter: PointFilter } | { points: string[] },
): Promise<void> {
  await unless(
    404,
    ask(api => api.deletePoints, { collection_name: name, wait: true, ...which }),
  );
}

/** Removes all points of a scope except its newest `max`. */
async function trim(ask: QdrantAsk, name: string, scope: string, max: number): Promise<void> {
  const filter = { must: [inScope(scope)] };
  if ((await countPoints(ask, name, filter)) <= max) return;
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
    if (ids.length > 0) await removeFrom(ask, name, { points: [...ids] });
    if (ids.length < removalsAtOnce) return;
  }
}
