import { isObject } from '#core';

export type Answer = { readonly status: number; readonly body: unknown };
type Body = { readonly [key: string]: unknown };
type Stored = {
  readonly id: string;
  readonly version: number;
  readonly vector: readonly number[];
  readonly payload: Body;
};
type Collection = {
  readonly size: number;
  readonly config: Body;
  /** Settings of strict mode of the collection. */
  strict: Body;
  readonly points: Map<string, Stored>;
  readonly indexes: Map<string, Body>;
};

/** The operations of Qdrant on collections and points that the hub uses. Other requests are refused. */
export type Store = {
  list(): Answer;
  read(name: string): Answer;
  create(name: string, body: Body): Answer;
  update(name: string, body: Body): Answer;
  drop(name: string): Answer;
  index(name: string, body: Body): Answer;
  upsert(name: string, body: Body, waits: boolean): Answer;
  query(name: string, body: Body): Answer;
  remove(name: string, body: Body, waits: boolean): Answer;
  count(name: string, body: Body): Answer;
};

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export const refuse = (status: number, error: string): Answer => ({
  status,
  body: { status: { error }, time: 0.000012 },
});

const done = (result: unknown): Answer => ({
  status: 200,
  body: { result, status: 'ok', time: 0.000123 },
});

/** A rejected request, with Qdrant's message. */
class Wrong extends Error {
  readonly title: string;

  constructor(message: string, title = 'Wrong input') {
    super(message);
    this.title = title;
  }
}

const hnsw = { m: 16, ef_construct: 100, full_scan_threshold: 10_000 };

/** Creates an empty store. `needsIndexParams`: integer indexes need both `lookup` and `range`, as before 1.11.1. */
export function createStore({ needsIndexParams }: { readonly needsIndexParams: boolean }): Store {
  const collections = new Map<string, Collection>();
  let operations = 0;

  function within(name: string, work: (collection: Collection) => unknown): Answer {
    const collection = collections.get(name);
    if (!collection) return refuse(404, `Not found: Collection \`${name}\` doesn't exist!`);
    try {
      return done(work(collection));
    } catch (error) {
      if (error instanceof Wrong) return refuse(400, `${error.title}: ${error.message}`);
      throw error;
    }
  }

  /** Result of an update. Without `wait` a real Qdrant has only queued the operation. */
  const updated = (waits: boolean) => ({
    operation_id: ++operations,
    status: waits ? 'completed' : 'acknowledged',
  });

  return {
    list: () => done({ collections: [...collections.keys()].map(name => ({ name })) }),
    read: name =>
      within(name, ({ config, points, indexes }) => ({
        status: 'green',
        optimizer_status: 'ok',
        indexed_vectors_count: 0,
        points_count: points.size,
        segments_count: 2,
        config,
        payload_schema: Object.fromEntries(
          [...indexes].map(([field, params]) => [
            field,
            { data_type: params['type'], params, points: points.size },
          ]),
        ),
      })),
    create(name, { vectors, on_disk_payload: onDisk, hnsw_config: graph }) {
      if (collections.has(name))
        return refuse(409, `Wrong input: Collection \`${name}\` already exists!`);
      // Named vectors have a size each. The double stores no points with them.
      const size = Number(isObject(vectors) ? (vectors['size'] ?? 0) : 0);
      const config = {
        params: {
          vectors,
          shard_number: 1,
          replication_factor: 1,
          write_consistency_factor: 1,
          on_disk_payload: onDisk,
        },
        hnsw_config: { ...hnsw, ...(isObject(graph) && graph) },
        optimizer_config: { default_segment_number: 0, flush_interval_sec: 5 },
        wal_config: { wal_capacity_mb: 32, wal_segments_ahead: 0 },
      };
      const empty = { points: new Map(), indexes: new Map() };
      collections.set(name, { size, config, strict: {}, ...empty });
      return done(true);
    },
    update(name, { strict_mode_config: strict }) {
      const collection = collections.get(name);
      if (collection && isObject(strict)) collection.strict = strict;
      return done(true);
    },
    drop: name => done(collections.delete(name)),
    index: (name, { field_name: field, field_schema: schema }) =>
      within(name, ({ indexes }) => {
        if (typeof field !== 'string' || !isObject(schema)) throw new Wrong('no field');
        // Qdrant 1.10.1 rejects the whole body.
        if (
          needsIndexParams &&
          schema['type'] === 'integer' &&
          !('lookup' in schema && 'range' in schema)
        )
          throw new Wrong(
            'data did not match any variant of untagged enum PayloadFieldSchema',
            'Format error in JSON body',
          );
        indexes.set(field, schema);
        return updated(true);
      }),
    upsert: (name, { points: given }, waits) =>
      within(name, ({ points, size }) => {
        const version = operations + 1;
        const checked = listOf(given).map(point => storedOf(point, size, version));
        for (const point of checked) points.set(point.id, point);
        return updated(waits);
      }),
    query: (name, body) =>
      within(name, collection => {
        const { query, limit, offset, params } = body;
        checkLimit(collection, Number(limit ?? 10));
        checkExact(collection, isObject(params) && params['exact'] === true, noGraph);
        const matching = [...collection.points.values()].filter(filterOf(body['filter']));
        const scored = Array.isArray(query)
          ? nearest(collection, matching, numbersOf(query), body)
          : ordered(collection, matching, query);
        const from = Number(offset ?? 0);
        return {
          points: scored.slice(from, from + Number(limit ?? 10)).map(({ point, ...score }) => ({
            id: point.id,
            version: point.version,
            ...score,
            ...(body['with_payload'] === true ? { payload: point.payload } : {}),
          })),
        };
      }),
    remove: (name, body, waits) =>
      within(name, ({ points }) => {
        const ids = Array.isArray(body['points']) ? new Set(body['points']) : undefined;
        const isMeant = ids ? ({ id }: Stored) => ids.has(id) : filterOf(body['filter']);
        for (const point of points.values()) if (isMeant(point)) points.delete(point.id);
        return updated(waits);
      }),
    count: (name, body) =>
      within(name, collection => {
        checkExact(collection, body['exact'] === true);
        return { count: [...collection.points.values()].filter(filterOf(body['filter'])).length };
      }),
  };
}

/** Fails if strict mode forbids exact requests. In 1.19.0 the reason for counts differs from that for searches. */
function checkExact({ strict }: Collection, isExact: boolean, reason = noExact): void {
  if (isExact && strict['enabled'] === true && strict['search_allow_exact'] === false)
    throw new Wrong(reason, 'Bad request');
}

const noExact = 'Exact search disabled!. Help: Set exact=false.';
const noGraph =
  'Request is forbidden because vector indexing is disabled (hnsw_config.m = 0 and hnsw_config.payload_m = 0). Help: Enable vector indexing, use a prefetch query with indexed vectors or enable strict mode `search_allow_exact` option';

function checkLimit({ strict }: Collection, limit: number): void {
  const max = strict['enabled'] === true ? strict['max_query_limit'] : undefined;
  if (typeof max === 'number' && limit > max)
    throw new Wrong(
      `Limit exceeded ${limit} > ${max} for "limit". Help: Reduce the "limit" parameter to or below ${max}.`,
      'Bad request',
    );
}

type Scored = { readonly point: Stored; readonly score: number; readonly order_value?: number };

function nearest(
  { size }: Collection,
  points: readonly Stored[],
  query: readonly number[],
  { score_threshold: threshold }: Body,
): readonly Scored[] {
  if (query.length !== size) throw wrongSize(size, query.length);
  const unit = unitOf(query);
  return points
    .map(point => ({
      point,
      score: Math.fround(point.vector.reduce((sum, value, at) => sum + value * (unit[at] ?? 0), 0)),
    }))
    .filter(({ score }) => typeof threshold !== 'number' || score > Math.fround(threshold))
    .sort((a, b) => b.score - a.score);
}

/** Sorts points by a field with an integer index. Like Qdrant, it refuses fields without a range index. */
function ordered(
  { indexes }: Collection,
  points: readonly Stored[],
  query: unknown,
): readonly Scored[] {
  const order = isObject(query) && isObject(query['order_by']) ? query['order_by'] : {};
  const { key, direction } = order;
  if (typeof key !== 'string') throw new Wrong('this double knows no such query');
  if (indexes.get(key)?.['type'] !== 'integer')
    throw new Wrong(
      `No range index for \`order_by\` key: \`${key}\`. Please create one to use \`order_by\`.`,
    );
  const sign = direction === 'desc' ? -1 : 1;
  return points
    .map(point => ({ point, score: 0, order_value: Number(point.payload[key]) }))
    .sort((a, b) => sign * (a.order_value - b.order_value));
}

function storedOf(point: unknown, size: number, version: number): Stored {
  const { id, vector, payload } = isObject(point) ? point : {};
  if (typeof id !== 'string' || !uuid.test(id))
    throw new Wrong(
      `value ${String(id)} is not a valid point ID, valid values are either an unsigned integer or a UUID`,
    );
  const numbers = numbersOf(vector);
  if (numbers.length !== size) throw wrongSize(size, numbers.length);
  return { id, version, vector: unitOf(numbers), payload: isObject(payload) ? payload : {} };
}

const wrongSize = (has: number, got: number) =>
  new Wrong(`Vector dimension error: expected dim: ${has}, got ${got}`);

/** Returns the predicate of a filter: `must` or `should`, of `match` with a value, `range` and `is_empty`. */
function filterOf(filter: unknown): (point: Stored) => boolean {
  if (filter === undefined) return () => true;
  const { must, should } = isObject(filter) ? filter : {};
  if (should !== undefined)
    return point => listOf(should).some(condition => matches(condition, point));
  return point => listOf(must).every(condition => matches(condition, point));
}

function matches(condition: unknown, { payload }: Stored): boolean {
  const { key, match, range, is_empty: isEmpty } = isObject(condition) ? condition : {};
  if (isObject(isEmpty)) return payload[String(isEmpty['key'])] === undefined;
  const value = payload[String(key)];
  if (isObject(match)) return value === match['value'];
  if (!isObject(range)) throw new Wrong('this double knows no such condition');
  if (typeof value !== 'number') return false;
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = range;
  return value > Number(gt) && value >= Number(gte) && value < Number(lt) && value <= Number(lte);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function numbersOf(value: unknown): readonly number[] {
  return listOf(value).map(entry => {
    if (typeof entry !== 'number') throw new Wrong('a vector holds numbers');
    return entry;
  });
}

/** Normalizes a vector to 32-bit floats, as Qdrant stores vectors of collections with distance Cosine. */
function unitOf(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return vector.map(value => Math.fround(length === 0 ? 0 : value / length));
}
