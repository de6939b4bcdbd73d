import type { Owner } from './caller.ts';

/**
 * Requests that nobody waits for any more, and that the server may still work on: what it says of them
 * must not be taken for something about the calls of others.
 */
export interface Abandoned {
  add(id: number, owner: Owner): void;
  /** The server has answered after all: it works on it no more. */
  answered(id: number): void;
  owners(): Iterable<Owner>;
  clear(): void;
}

/** A server that obeys never answers what was cancelled: it is taken for done with it after this long. */
const lifeMs = 30_000;
/** Of more, the oldest are taken for done. */
const maxKept = 1_000;

export function createAbandoned(): Abandoned {
  const kept = new Map<number, { readonly owner: Owner; readonly timeout: NodeJS.Timeout }>();

  function answered(id: number): void {
    clearTimeout(kept.get(id)?.timeout);
    kept.delete(id);
  }

  return {
    add(id, owner) {
      const timeout = setTimeout(() => kept.delete(id), lifeMs);
      timeout.unref();
      kept.set(id, { owner, timeout });
      const [oldest] = kept.size > maxKept ? kept.keys() : [];
      if (oldest !== undefined) answered(oldest);
    },
    answered,
    *owners() {
      for (const { owner } of kept.values()) yield owner;
    },
    clear() {
      for (const id of Array.from(kept.keys())) answered(id);
    },
  };
}
