import { type Clock, type Log, setBounded, sleep } from '#core';
import { VectorsFailure, dimensionFailure } from '../vectors.ts';
import { type CollectionSchema, collectionsIn, countIn, schemaIn } from './answers.ts';
import { unless } from './failures.ts';
import type { QdrantAsk } from './link.ts';

export type PointCondition =
  | { key: string; match: { value: string } }
  | { key: string; range: { gt?: number; gte?: number; lte?: number } }
  | { is_empty: { key: string } };
export type PointFilter = { must: PointCondition[] } | { should: PointCondition[] };

const keyword = { type: 'keyword' } as const;
// Before 1.11.1, Qdrant refuses an integer index without `lookup` and `range`.
const integer = { type: 'integer', lookup: true, range: true } as const;

/** Fields used by filters or sorting. All points have them, and every collection has an index of each. */
const indexes = {
  scope: { ...keyword, is_tenant: true },
  tag: keyword,
  expires_at: integer,
  // Time at which the point was stored. It is internal: results do not contain it.
  put_at: integer,
} as const;
const fields = Object.keys(indexes);

/** Prefix of the marker fields of all deployments. */
const markers = 'agenthub.';
/** First and longest pause in ms before a collection that another hub is creating is read again. */
const firstPauseMs = 50;
const maxPauseMs = 800;
/** Maximum number of collections whose owner is remembered. */
const maxKnown = 1_000;

/**
 * Creates the collections of a deployment. Other programs may have collections with the same prefix, so a collection
 * belongs to the deployment only if it has its marker: an index on the field `agenthub.{deployment}`, which no point
 * has (`decisions/0020`). The marker is an index, because all versions of Qdrant list the indexes of a collection. A
 * collection that somebody has deleted and created again has no marker.
 */
export function createCollections(
  deployment: string,
  { clock, log }: { readonly clock: Pick<Clock, 'after'>; readonly log: Pick<Log, 'warn'> },
) {
  const prefix = `${deployment}-`;
  const marker = `${markers}${deployment}`;
  /** Whether each collection had the marker when it was last read. A warning was logged for those without one. */
  const known = new Map<string, boolean>();
  /** Names of collections that are being prepared. A new collection gets its marker at the end of that. */
  const preparing = new Set<string>();

  function remember(name: string, isOurs: boolean): boolean {
    setBounded(known, name, isOurs, maxKnown);
    return isOurs;
  }

  const read = async (ask: QdrantAsk, name: string): Promise<CollectionSchema | undefined> => {
    const found = await unless(
      404,
      ask(api => api.getCollection, { collection_name: name }),
    );
    return found === undefined ? undefined : schemaIn(found);
  };

  /** Reads a collection that another hub may be creating. Waits until it can be read. */
  async function readWhenReady(ask: QdrantAsk, name: string) {
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      try {
        return await read(ask, name);
      } catch (error) {
        if (!isUnready(error) || pauseMs > maxPauseMs) throw error;
      }
      await sleep(pauseMs, { clock });
    }
  }

  async function addIndexes(
    ask: QdrantAsk,
    name: string,
    indexed: readonly string[],
  ): Promise<boolean> {
    // Adds the marker first, so that no other hub claims a collection that is only partly set up.
    for (const [field_name, field_schema] of Object.entries({ [marker]: keyword, ...indexes })) {
      const index = { collection_name: name, wait: true, field_name, field_schema };
      if (!indexed.includes(field_name)) await ask(api => api.createFieldIndex, index);
    }
    return remember(name, true);
  }

  /** Resolves to true if a collection belongs to this deployment. Claims those of earlier versions without a marker. */
  async function claim(ask: QdrantAsk, name: string): Promise<boolean> {
    const wasPreparing = preparing.has(name);
    const schema = await read(ask, name);
    if (!schema) return false;
    const { indexed } = schema;
    if (indexed.includes(marker)) return remember(name, true);
    const isOfOther = indexed.some(field => field.startsWith(markers));
    const isAlike = fields.every(field => indexed.includes(field)) && !whyForeign(schema);
    if (!isOfOther && isAlike && (await holdsOnlyOurs(ask, name)))
      return await addIndexes(ask, name, indexed);
    if (wasPreparing || preparing.has(name)) return false;
    if (!isOfOther && known.get(name) !== false)
      log.warn(
        { collection: name },
        'a collection in Qdrant has a name of the hub, but was not made by it: the hub leaves it alone. Delete it if nothing else uses it',
      );
    return remember(name, false);
  }

  async function prepare(ask: QdrantAsk, name: string, size: number): Promise<void> {
    const collection = { collection_name: name };
    let schema = await readWhenReady(ask, name);
    if (!schema) {
      const vectors = { size, distance: 'Cosine' } as const;
      // All searches are exact, so a graph (HNSW) would never be used.
      const options = { vectors, on_disk_payload: true, hnsw_config: { m: 0 } };
      await unless(
        409,
        ask(api => api.createCollection, { ...collection, ...options }),
      );
      schema = await readWhenReady(ask, name);
      if (!schema) throw new VectorsFailure('refused', `${name} was dropped at once`, 404);
    }
    const why = whyForeign(schema);
    if (why !== undefined) throw foreignFailure(name, why);
    if (schema.dimensions !== size)
      throw dimensionFailure(name, { has: schema.dimensions, got: size });
    if (!schema.indexed.includes(marker) && !(await holdsOnlyOurs(ask, name)))
      throw foreignFailure(name, 'has entries of another program');
    await addIndexes(ask, name, schema.indexed);
  }

  return {
    /** Returns the name in Qdrant. Escapes all but letters, digits, `_`, `.` and `-`, as Qdrant allows few others. */
    nameOf: (collection: string): string =>
      prefix +
      collection.replaceAll(
        /[^\w.-]/g,
        sign => `~${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    /** Resolves to true if the collection belongs to this deployment, so that look-ups may use it. */
    isOurs: async (ask: QdrantAsk, name: string): Promise<boolean> =>
      known.get(name) || (await claim(ask, name)),
    /** Resolves with the names of all collections of the deployment. */
    async list(ask: QdrantAsk): Promise<readonly string[]> {
      const names = collectionsIn(await ask(api => api.getCollections, {}));
      const found: string[] = [];
      for (const name of names)
        if (name.startsWith(prefix) && (await claim(ask, name))) found.push(name);
      return found;
    },
    /** Creates the collection and its indexes if missing. Rejects for a collection of another program. */
    async prepare(ask: QdrantAsk, name: string, size: number): Promise<void> {
      preparing.add(name);
      try {
        await prepare(ask, name, size);
      } finally {
        preparing.delete(name);
      }
    },
    /** Drops a collection of this deployment if it has no points. */
    async dropEmpty(ask: QdrantAsk, name: string): Promise<void> {
      if ((await countPoints(ask, name)) > 0) return;
      await unless(
        404,
        ask(api => api.deleteCollection, { collection_name: name }),
      );
    },
  };
}

/** Counts the points of a collection, or those that match a filter; 0 if the collection does not exist. */
export async function countPoints(
  ask: QdrantAsk,
  name: string,
  filter?: PointFilter,
): Promise<number> {
  const asked = { collection_name: name, exact: true, ...(filter && { filter }) };
  const found = await unless(
    404,
    ask(api => api.countPoints, asked),
  );
  return found === undefined ? 0 : countIn(found);
}

/** Resolves to true if all points have the fields that the hub sets. */
async function holdsOnlyOurs(ask: QdrantAsk, name: string): Promise<boolean> {
  if ((await countPoints(ask, name)) === 0) return true;
  const should = fields.map(key => ({ is_empty: { key } }));
  return (await countPoints(ask, name, { should })) === 0;
}

/** Returns how the vectors of a collection differ from those of the hub; undefined if they do not. */
function whyForeign({ distance, datatype }: CollectionSchema): string | undefined {
  if (distance !== 'Cosine') return `compares vectors by ${distance}, not by Cosine`;
  return datatype === 'float32' ? undefined : `stores vectors as ${datatype}, not as float32`;
}

/** True for the answer of Qdrant about a collection whose shards do not exist yet, which follows its creation. */
const isUnready = (error: unknown): boolean =>
  error instanceof VectorsFailure &&
  error.status === 500 &&
  error.message.includes('0 of 0 read operations failed');

const foreignFailure = (name: string, why: string) =>
  new VectorsFailure(
    'refused',
    `the collection ${name} in Qdrant ${why}. Delete it, or set another DEPLOYMENT_NAME for this hub`,
  );
