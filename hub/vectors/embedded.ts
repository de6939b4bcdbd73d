import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Log, messageOf } from '#core';
import { isDamage, isFull, openFile, setAside } from './file.ts';
import { type Scope, createMemory } from './memory.ts';
import { type Gone, type Points, createPoints } from './points.ts';
import { type Block, createNearest } from './scan.ts';
import { type Vectors, VectorsFailure, dimensionFailure, fieldsOf, unitOf } from './vectors.ts';

/** Of one scope all 10,000 vectors of 768 numbers fit, twice over; what does not is read at each look-up. */
const defaultMemoryBytes = 64 * 1024 ** 2;
/** So many blocks in memory are looked at in one turn of the event loop: a third of a millisecond. */
const blocksPerTurn = 4;
/** So many points are removed in one turn. */
const removalsPerTurn = 32;

/**
 * Keeps points in a SQLite file and looks at each of a scope in turn, in memory once the scope was asked for.
 * Nobody but this has the file open. No call keeps the event loop for long: each goes on in the next turn.
 * A file that is damaged is set aside, whenever that is found out; what it held is then gone.
 */
export function createEmbeddedVectors(
  file: string,
  needs: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
  options: { readonly maxMemoryBytes?: number } = {},
): Vectors {
  const { clock, log } = needs;
  const memory = createMemory({ maxBytes: options.maxMemoryBytes ?? defaultMemoryBytes });
  let opened: { readonly points: Points; close(): void } | undefined;
  let stopped = false;

  function open(): Points {
    if (stopped) throw new VectorsFailure('stopped', 'the semantic cache has stopped');
    if (!opened) {
      const database = openFile(file, needs);
      const damaged = (rows: number) =>
        log.warn({ file, rows }, 'entries of the semantic cache are damaged: they are removed');
      opened = { points: createPoints(database, damaged), close: () => database.close() };
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
      log.debug({ file, error: messageOf(error) }, 'the semantic cache is not closed');
    }
  }

  function leave(damage: unknown): void {
    close();
    try {
      setAside(file, damage, needs);
    } catch (error) {
      log.warn({ file, error: messageOf(error) }, 'a damaged file cannot be set aside');
    }
  }

  /** One stretch of work on the file. What SQLite throws becomes a failure, and a damaged file is left. */
  function use<T>(work: (points: Points) => T): T {
    try {
      return work(open());
    } catch (error) {
      if (error instanceof VectorsFailure) throw error;
      const kind = isDamage(error) ? 'corrupt' : isFull(error) ? 'full' : 'unreachable';
      if (kind === 'corrupt') leave(error);
      throw new VectorsFailure(kind, `${file}: ${messageOf(error)}`, { cause: error });
    }
  }

  function forget(gone: readonly Gone[]): number {
    for (const { collection, scope, number } of gone)
      memory.remove(keyOf(collection, scope), number);
    return gone.length;
  }

  /** Removes in as many turns as it takes, and resolves with how many. */
  async function removeAll(some: (points: Points) => readonly Gone[]): Promise<number> {
    let removed = 0;
    for (;;) {
      const count = forget(use(some));
      removed += count;
      if (count < removalsPerTurn) return removed;
      await nextTurn();
    }
  }

  return {
    name: 'vectors',
    async start() {
      try {
        open();
      } catch (error) {
        log.warn({ file, error: messageOf(error) }, 'the semantic cache cannot be used');
      }
    },
    async stop() {
      close();
      stopped = true;
    },
    async put(collection, point, { scope, maxPerScope }, signal) {
      const fields = fieldsOf(point, scope);
      const vector = unitOf(point.vector);
      checkEnded(signal);
      const id = use(points => {
        const has =
          points.collection(collection) ?? points.addCollection(collection, vector.length);
        if (has.dimensions !== vector.length)
          throw dimensionFailure(collection, { has: has.dimensions, got: vector.length });
        const { number, gone } = points.put(has.id, { ...point, vector }, fields);
        forget(gone);
        memory.add(keyOf(has.id, scope), number, vector, fields.expiresAt);
        forget(points.removeExpired(clock.now(), removalsPerTurn));
        return has.id;
      });
      await removeAll(points => {
        const excess = points.count(id, scope) - maxPerScope;
        return excess > 0 ? points.removeOldest(id, scope, Math.min(excess, removalsPerTurn)) : [];
      });
    },
    async near(collection, given, { scope, limit, minScore }, signal) {
      const vector = unitOf(given);
      const has = use(points => points.collection(collection));
      if (!has) return [];
      if (has.dimensions !== vector.length)
        throw dimensionFailure(collection, { has: has.dimensions, got: vector.length });
      const nearest = createNearest(limit, minScore);
      const kept = memory.open(keyOf(has.id, scope));
      const read = (after: number) => use(points => points.block(has, scope, after));
      let inTurn = 0;
      for (const { block, isRead } of blocksOf(kept, read)) {
        nearest.scan(block, vector, clock.now());
        inTurn += isRead ? blocksPerTurn : 1;
        if (inTurn < blocksPerTurn) continue;
        inTurn = 0;
        await nextTurn();
        checkEnded(signal);
      }
      return nearest.found.flatMap(({ number, score }) => {
        // It may have been removed meanwhile.
        const found = use(points => points.find(number));
        return found ? [{ ...found, score }] : [];
      });
    },
    async remove(collection, ids) {
      for (let from = 0; from < ids.length; from += removalsPerTurn) {
        if (from > 0) await nextTurn();
        use(points => {
          const has = points.collection(collection);
          if (!has) return;
          for (const id of ids.slice(from, from + removalsPerTurn))
            forget(points.removeId(has.id, id));
        });
      }
    },
    async removeTag(tag) {
      // What is put from now on stays.
      const upTo = use(points => points.last());
      return await removeAll(points => points.removeTag(tag, upTo, removalsPerTurn));
    },
    async stats() {
      try {
        const entries = use(points => points.countLive(clock.now()));
        return { backend: 'embedded', status: 'up', entries, error: undefined };
      } catch (error) {
        const reason = messageOf(error);
        return { backend: 'embedded', status: 'down', entries: undefined, error: reason };
      }
    },
  };
}

const keyOf = (collection: number, scope: string) => `${collection} ${scope}`;

/** The blocks of a scope: those in memory, then what is read of the file, and kept where there is room. */
function* blocksOf(
  kept: Scope,
  read: (after: number) => Block | undefined,
): Generator<{ readonly block: Block; readonly isRead: boolean }> {
  for (let after = 0; ;) {
    const known = kept.next(after);
    if (!known && kept.isComplete) return;
    const block = known ?? read(after);
    if (!block) {
      kept.complete(after);
      return;
    }
    if (!known) kept.keep(block, after);
    yield { block, isRead: !known };
    after = block.last;
  }
}

function checkEnded(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new VectorsFailure('cancelled', 'the look-up was cancelled');
}
