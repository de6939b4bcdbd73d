import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Log, messageOf } from '#core';
import { type Nearest, createMemory, createNearest } from './memory.ts';
import { type Operation, createOutcomes } from './outcomes.ts';
import {
  type Collection,
  type Points,
  type RemovedPoint,
  createPoints,
  isDamage,
  isFull,
  openDatabase,
  setAside,
} from './points.ts';
import {
  type Vectors,
  VectorsFailure,
  dimensionFailure,
  fieldsOf,
  statsOf,
  unitOf,
} from './vectors.ts';

/** Maximum memory for vectors: twice that of 10,000 vectors of 768 numbers. Others are read from the file. */
const defaultMemoryBytes = 64 * 1024 ** 2;
/** Number of floats compared in one turn of the event loop, which takes a third of a millisecond. */
const floatsPerTurn = 196_608;
const removalsPerTurn = 32;

/**
 * Creates an index that keeps points in a SQLite file and compares all vectors of a scope at each look-up. Vectors that
 * were read stay in memory. Long work is spread over turns of the event loop. A damaged file is renamed as soon as the
 * damage is found, and the index starts empty. Only one process may open the file.
 */
export function createEmbeddedVectors(
  file: string,
  needs: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
  options: { readonly maxMemoryBytes?: number } = {},
): Vectors {
  const { clock, log } = needs;
  const memory = createMemory({ maxBytes: options.maxMemoryBytes ?? defaultMemoryBytes });
  let opened: { readonly points: Points; close(): void } | undefined;
  const outcomes = createOutcomes(log, 'its file');
  let isStopped = false;

  function open(): Points {
    if (isStopped) throw new VectorsFailure('stopped', 'the semantic cache has stopped');
    if (!opened) {
      const database = openDatabase(file, needs);
      const onDamage = (rows: number) =>
        log.warn({ file, rows }, 'damaged entries of the semantic cache were removed');
      opened = { points: createPoints(database, onDamage), close: () => database.close() };
    }
    return opened.points;
  }

  function close(): void {
    const closing = opened;
    opened = undefined;
    memory.clear();
    try {
      closing?.close();
    } catch (error) {
      log.debug({ file, error: messageOf(error) }, 'the semantic cache could not be closed');
    }
  }

  /** Runs `work` on the open file. Converts SQLite errors to VectorsFailure, and renames a damaged file. */
  function withPoints<T>(operation: Operation, work: (points: Points) => T): T {
    try {
      const result = work(open());
      outcomes.succeeded(operation);
      return result;
    } catch (error) {
      if (error instanceof VectorsFailure) throw error;
      const kind = isDamage(error) ? 'corrupt' : isFull(error) ? 'full' : 'unreachable';
      const failure = new VectorsFailure(kind, `${file}: ${messageOf(error)}`);
      if (kind === 'corrupt') replaceDamagedFile(error);
      else outcomes.failed(operation, failure);
      throw failure;
    }
  }

  /**
   * Continues a look-up on the points where it began. Throws if their file was replaced because it was damaged: in the
   * new file, the same numbers belong to other points.
   */
  function withSamePoints<T>(own: Points, work: (points: Points) => T): T {
    return withPoints('look-up', points => {
      if (points === own) return work(points);
      throw new VectorsFailure('corrupt', `${file} was damaged, and was replaced meanwhile`);
    });
  }

  function replaceDamagedFile(damage: unknown): void {
    close();
    try {
      setAside(file, damage, needs);
    } catch (error) {
      log.warn(
        { file, error: messageOf(error) },
        'the damaged file of the semantic cache could not be renamed: remove it',
      );
    }
  }

  function removeFromMemory(removed: readonly RemovedPoint[]): number {
    for (const { collection, scope, number } of removed)
      memory.remove(keyOf(collection, scope), number);
    return removed.length;
  }

  /** Calls `removeSome`, which removes at most `removalsPerTurn` points, until it removes fewer. Returns their sum. */
  async function removeAll(
    removeSome: (points: Points) => readonly RemovedPoint[],
  ): Promise<number> {
    let sum = 0;
    for (;;) {
      const count = removeFromMemory(withPoints('write', removeSome));
      sum += count;
      if (count < removalsPerTurn) return sum;
      await nextTurn();
    }
  }

  /** Adds all vectors of a scope to `nearest`: first those in memory, then the rest from the file. */
  async function compareAll(
    own: Points,
    collection: Collection,
    scope: string,
    nearest: Nearest,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const key = keyOf(collection.id, scope);
    const inMemory = memory.open(key);
    const vectorsPerTurn = Math.ceil(floatsPerTurn / collection.dimensions);
    let now = clock.now();
    const pause = async () => {
      await nextTurn();
      throwIfCancelled(signal);
      now = clock.now();
    };
    let count = 0;
    for (const stored of inMemory.vectors.values()) {
      nearest.add(stored, now);
      if (++count % vectorsPerTurn === 0) await pause();
    }
    let after = inMemory.upTo;
    for (let isEnd = inMemory.isComplete; !isEnd;) {
      const chunk = withSamePoints(own, points => points.read(collection, scope, after));
      memory.append(key, after, chunk);
      isEnd = !chunk;
      if (!chunk) continue;
      for (const stored of chunk.vectors) nearest.add(stored, now);
      after = chunk.upTo;
      await pause();
    }
  }

  return {
    async start() {
      try {
        withPoints('count', () => {});
      } catch {
        // `withPoints` has logged the failure, and the next call tries to open the file again.
      }
    },
    async stop() {
      close();
      isStopped = true;
    },
    async put(collection, point, { scope, maxPerScope }, signal) {
      const fields = fieldsOf(point, scope);
      const { expiresAt } = fields;
      const vector = unitOf(point.vector);
      throwIfCancelled(signal);
      const id = withPoints('write', points => {
        const found =
          points.collection(collection) ?? points.addCollection(collection, vector.length);
        checkDimensions(collection, found, vector);
        const { number, removed } = points.put(found.id, { ...point, vector }, fields);
        removeFromMemory(removed);
        memory.add(keyOf(found.id, scope), { number, vector, expiresAt });
        removeFromMemory(points.removeExpired(clock.now(), removalsPerTurn));
        return found.id;
      });
      await removeAll(points => points.removeExcess(id, scope, maxPerScope, removalsPerTurn));
    },
    async near(collection, vector, { scope, limit, minScore }, signal) {
      const query = unitOf(vector);
      const [own, found] = withPoints(
        'look-up',
        points => [points, points.collection(collection)] as const,
      );
      if (!found) return [];
      checkDimensions(collection, found, query);
      const nearest = createNearest(query, { limit, minScore });
      await compareAll(own, found, scope, nearest, signal);
      return nearest.found.flatMap(({ number, score }) => {
        // Another call may have removed the point meanwhile.
        const point = withSamePoints(own, points => points.find(number));
        return point ? [{ ...point, score }] : [];
      });
    },
    async removeTag(tag) {
      // Points added from now on are not removed.
      const upTo = withPoints('write', points => points.lastNumber());
      return await removeAll(points => points.removeTag(tag, upTo, removalsPerTurn));
    },
    stats: () =>
      statsOf(
        'embedded',
        () => withPoints('count', points => points.countLive(clock.now())),
        outcomes,
      ),
  };
}

const keyOf = (collection: number, scope: string) => `${collection} ${scope}`;

function checkDimensions(name: string, { dimensions }: Collection, vector: Float32Array): void {
  if (dimensions !== vector.length)
    throw dimensionFailure(name, { has: dimensions, got: vector.length });
}

function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new VectorsFailure('cancelled', 'the look-up was cancelled');
}
