import type { Clock } from '#core';
import type { RedisIndex } from './redis-index.ts';

/** Forgets entries, also if Redis is away when it is asked to: then as soon as Redis is back. */
export interface Forgetting {
  /** Forgets the entries of a tag, or all; resolves with their number. What Redis cannot forget now is owed. */
  forget(tag?: string): Promise<number>;
  /** Whether entries of a tag, or any, are still to be forgotten, and therefore must not be found. */
  isOwed(tag?: string): boolean;
  /** Forgets what is owed. Never rejects: what Redis refuses is tried again later. */
  pay(): Promise<void>;
  /** Ends the attempts. */
  stop(): void;
}

const all = '';
/** If more tags are owed, all entries are. */
const maxOwed = 100;
/** Delay until the next attempt after Redis refused one. */
const againMs = 1_000;

export function createForgetting(
  index: Pick<RedisIndex, 'apply'>,
  clock: Pick<Clock, 'after'>,
): Forgetting {
  /** Tags as JSON, or `all`. */
  const owed = new Set<string>();
  let isStopped = false;
  let again: Disposable | undefined;

  async function forgetNow(tag: string): Promise<number> {
    let forgotten = 0;
    for (let cursor = '0'; ;) {
      const answer = await index.apply({ forget: { tag, cursor } }).atLast;
      if (!answer) {
        owed.add(owed.size < maxOwed ? tag : all);
        // A Redis that refuses keeps its connection, so that no reconnection starts the next attempt.
        if (!isStopped) again ??= clock.after(againMs, () => void pay());
        return forgotten;
      }
      forgotten += answer.forgotten;
      cursor = answer.cursor;
      if (cursor !== '0') continue;
      if (tag === all) owed.clear();
      else owed.delete(tag);
      return forgotten;
    }
  }

  async function pay(): Promise<void> {
    again?.[Symbol.dispose]();
    again = undefined;
    await Promise.all(Array.from(owed, forgetNow));
  }

  return {
    forget: tag => forgetNow(tag === undefined ? all : JSON.stringify(tag)),
    isOwed: tag =>
      owed.size > 0 && (tag === undefined || owed.has(all) || owed.has(JSON.stringify(tag))),
    pay,
    stop() {
      isStopped = true;
      again?.[Symbol.dispose]();
    },
  };
}
