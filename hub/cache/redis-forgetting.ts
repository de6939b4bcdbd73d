import type { Clock } from '#core';
import type { Reach } from './reach.ts';
import { forgetScript } from './redis-scripts.ts';

/** Forgetting that outlasts a Redis out of reach. */
export interface Forgetting {
  /** Forgets what has a tag, or all; how many entries that were. What cannot be forgotten now is owed. */
  forget(tag?: string): Promise<number>;
  /** Whether what has a tag, or anything, is still to be forgotten, and therefore not to be found. */
  isOwed(tag?: string): boolean;
  /** Forgets what is owed, as far as that is possible; the rest is tried again soon. Never rejects. */
  pay(): Promise<void>;
  /** Tries no more. */
  stop(): void;
}

const all = '';
/** Of more tags than these, all are forgotten. */
const maxOwed = 100;
/** So long after Redis has not forgotten something it is told again. */
const againMs = 1_000;

/** Owes nothing as yet. */
export function createForgetting(
  reach: Pick<Reach, 'tell'>,
  channel: string,
  clock: Pick<Clock, 'after'>,
): Forgetting {
  /** Tags as JSON, or `all`. */
  const owed = new Set<string>();
  let isStopped = false;
  let again: Disposable | undefined;

  async function forgetNow(tag: string): Promise<number> {
    let forgotten = 0;
    for (;;) {
      const answer = await reach.tell(forgetScript, [tag, channel]).atLast;
      if (!answer) {
        owed.add(owed.size < maxOwed ? tag : all);
        // A Redis that refuses keeps its connection: no other one tells when to try again.
        if (!isStopped) again ??= clock.after(againMs, () => void pay());
        return forgotten;
      }
      forgotten += Number(answer[0]);
      if (answer[1] === 'more') continue;
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
