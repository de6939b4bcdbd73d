import { type Block, addTo, bytesOf, createBlock, removeFrom } from './scan.ts';

/** What is in memory of one scope: its first points, and all of them once it is complete. */
export interface Scope {
  readonly isComplete: boolean;
  /** The first block with a point of a higher number than that. */
  next(after: number): Block | undefined;
  /** Takes a block that follows the point of that number, if all before it is here and there is room. */
  keep(block: Block, after: number): void;
  /** No point follows that number: if all before it is here, points are added from now on as they are put. */
  complete(after: number): void;
}

/** Vectors of the scopes that were asked for last, up to a bound; the rest stays in the file. */
export interface Memory {
  readonly bytes: number;
  /** What there is of a scope, which is nothing at first. */
  open(key: string): Scope;
  /** Adds a point that was put into a scope, where all of that scope is here. */
  add(key: string, number: number, vector: Float32Array, expiresAt: number): void;
  /** Forgets a point, where it is here. */
  remove(key: string, number: number): void;
  clear(): void;
}

type Kept = {
  /** Of rising numbers. */
  blocks: readonly Block[];
  /** All points up to this number are here. */
  last: number;
  isComplete: boolean;
};

/** Of so many scopes something is known at the most. */
const maxScopes = 1_000;

/** Keeps no more than `maxBytes`: scopes that were not asked for the longest go out first. */
export function createMemory({ maxBytes }: { readonly maxBytes: number }): Memory {
  /** The one asked for last comes last. */
  const scopes = new Map<string, Kept>();
  let bytes = 0;

  function drop(key: string, kept: Kept): void {
    scopes.delete(key);
    for (const block of kept.blocks) bytes -= bytesOf(block);
  }

  /** False where there is no room, even when the other scopes have given theirs. */
  function push(kept: Kept, block: Block): boolean {
    const needed = bytesOf(block);
    if (needed > maxBytes) return false;
    for (const [key, other] of scopes) {
      if (bytes + needed <= maxBytes) break;
      if (other !== kept) drop(key, other);
    }
    if (bytes + needed > maxBytes) return false;
    kept.blocks = [...kept.blocks, block];
    kept.last = Math.max(kept.last, block.last);
    bytes += needed;
    return true;
  }

  return {
    get bytes() {
      return bytes;
    },
    open(key) {
      const kept = scopes.get(key) ?? { blocks: [], last: 0, isComplete: false };
      scopes.delete(key);
      scopes.set(key, kept);
      for (const [oldest, other] of scopes) {
        if (scopes.size <= maxScopes) break;
        drop(oldest, other);
      }
      // It may have had to go while it is read.
      const isHere = (after: number) => scopes.get(key) === kept && kept.last === after;
      return {
        get isComplete() {
          return kept.isComplete;
        },
        next: after => kept.blocks.find(block => block.last > after),
        keep(block, after) {
          if (isHere(after)) push(kept, block);
        },
        complete(after) {
          if (isHere(after)) kept.isComplete = true;
        },
      };
    },
    add(key, number, vector, expiresAt) {
      const kept = scopes.get(key);
      if (!kept?.isComplete) return;
      const block = kept.blocks.at(-1);
      if (block && addTo(block, number, vector, expiresAt)) {
        kept.last = number;
        return;
      }
      const next = createBlock(vector.length);
      addTo(next, number, vector, expiresAt);
      // What follows is read from the file then.
      if (!push(kept, next)) kept.isComplete = false;
    },
    remove(key, number) {
      const kept = scopes.get(key);
      const block = kept?.blocks.find(one => one.last >= number);
      if (!kept || !block || !removeFrom(block, number) || block.live > 0) return;
      kept.blocks = kept.blocks.filter(one => one !== block);
      bytes -= bytesOf(block);
    },
    clear() {
      for (const [key, kept] of scopes) drop(key, kept);
    },
  };
}
