import type { Clock } from '#core';
import type { RedisIndex } from './redis-index.ts';

export type Forgetting = ReturnType<typeof createForgetting>;

const all = '';
/** If more tags are pending, all entries are removed. */
const maxPending = 100;
/** Delay until the next attempt after Redis refused one. */
const againMs = 1_000;

/** Removes entries by tag. While Redis is away, removals stay pending until it is back. */
export function createForgetting(index: Pick<RedisIndex, 'apply'>, clock: Pick<Clock, 'after'>) {
  /** Tags as JSON, or `all`. */
  const pending = new Set<string>();
  let isStopped = false;
  let again: Disposable | undefined;

  async function forgetNow(tag: string): Promise<number> {
    let forgotten = 0;
    for (let cursor = '0'; ;) {
      const answer = await index.apply({ forget: { tag, cursor } }).atLast;
      if (!answer) {
        pending.add(pending.size < maxPending ? tag : all);
        // A Redis that refuses keeps its connection, so that no reconnection starts the next attempt.
        if (!isStopped) again ??= clock.after(againMs, () => void retry());
        return forgotten;
      }
      forgotten += answer.forgotten;
      cursor = answer.cursor;
      if (cursor !== '0') continue;
      if (tag === all) pending.clear();
      else pending.delete(tag);
      return forgotten;
    }
  }

  /** Retries pending removals. Never rejects: after a refusal by Redis there is another attempt. */
  async function retry(): Promise<void> {
    again?.[Symbol.dispose]();
    again = undefined;
    await Promise.all(Array.from(pending, forgetNow));
  }

  return {
    /** Removes the entries of a tag, or all; resolves with their number. */
    forget: (tag?: string) => forgetNow(tag === undefined ? all : JSON.stringify(tag)),
    /** Whether entries of a tag, or any, must still be removed, and therefore must not be found. */
    isForgetPending: (tag?: string) =>
      pending.size > 0 &&
      (tag === undefined || pending.has(all) || pending.has(JSON.stringify(tag))),
    retry,
    stop(): void {
      isStopped = true;
      again?.[Symbol.dispose]();
    },
  };
}
