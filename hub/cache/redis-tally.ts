import type { Clock } from '#core';
import type { Reach } from './reach.ts';
import { countScript } from './redis-scripts.ts';

/** The figures of all hubs. */
export type Figures = {
  readonly entries: number;
  readonly bytes: number;
  readonly hits: number;
  readonly misses: number;
  readonly joined: number;
  readonly evictions: number;
  readonly errors: number;
};

/**
 * What one hub counts by itself, and which keys it has used, until Redis has it. Redis is told of hits a few
 * milliseconds later, of all of them at once: telling it of one takes longer than the hit.
 */
export interface Tally {
  count(name: 'hits' | 'misses' | 'joined' | 'errors'): void;
  /**
   * A key is used now, whether it is there or not. Redis has it before what this hub says after `tellUses`, and
   * never where it is out of reach: what was used is then used longer ago than it was.
   */
  use(key: string): void;
  /** Tells Redis of uses that it was not told of, so that what is said next finds them in their order. */
  tellUses(): void;
  /** Tells Redis soon. */
  tellSoon(): void;
  /** Tells Redis what was counted. Never rejects: what was not taken is told the next time. */
  tell(): Promise<void>;
  /** As `tell`, also of what is counted meanwhile. For who counts no more soon. */
  tellAll(): Promise<void>;
  /** The figures of all hubs as they are now, or as they were last seen, with what is not told yet. */
  figures(): Promise<Figures>;
}

const names = ['hits', 'misses', 'joined', 'errors'] as const;
type Counts = Record<(typeof names)[number], number>;
const none: Readonly<Counts> = { hits: 0, misses: 0, joined: 0, errors: 0 };

/**
 * Hits of so many milliseconds are told at once. A fill of another hub that ends in this time may let go of what
 * was used in it; what that hub fills with was asked for long before.
 */
const soonMs = 20;
/** Of more keys Redis is told at once. */
const maxUses = 500;
/** So many times at the most for what is counted while Redis is told. */
const maxLast = 100;

/** Nothing counted as yet. */
export function createTally(reach: Pick<Reach, 'tell'>, clock: Pick<Clock, 'after'>): Tally {
  /** What is in none of the figures that were seen, and which part of it was told, but not answered. */
  const [own, told]: readonly [Counts, Counts] = [{ ...none }, { ...none }];
  /** In the order of their last use. */
  const uses = new Set<string>();
  let soon: Disposable | undefined;
  let seen: Figures = { entries: 0, bytes: 0, evictions: 0, ...none };

  /** The answer, where it was in time and the figures are seen. */
  async function tell(): Promise<readonly string[] | undefined> {
    soon?.[Symbol.dispose]();
    soon = undefined;
    const telling = names.map(name => own[name] - told[name]);
    add(told, telling, 1);
    const { inTime, atLast } = reach.tell(countScript, [...telling, ...uses]);
    uses.clear();
    const taken = atLast.then(answer => {
      add(told, telling, -1);
      if (!answer) return;
      seen = figuresOf(answer.slice(2));
      if (answer[0] === 'counted') add(own, telling, -1);
    });
    const answer = await inTime;
    if (answer) await taken;
    return answer;
  }

  const isUntold = () => names.some(name => own[name] > told[name]);

  function tellSoon(): void {
    soon ??= clock.after(soonMs, () => void tell());
  }

  return {
    use(key) {
      uses.delete(key);
      uses.add(key);
      if (uses.size < maxUses) tellSoon();
      else void tell();
    },
    tellUses() {
      if (uses.size > 0) void tell();
    },
    tellSoon,
    count: name => void own[name]++,
    tell: async () => void (await tell()),
    async tellAll() {
      for (let time = 0; time < maxLast; time++)
        if ((await tell())?.[0] !== 'counted' || !isUntold()) return;
    },
    async figures() {
      // More has expired than was taken out.
      while ((await tell())?.[1] === 'more');
      const all = { ...seen };
      add(
        all,
        names.map(name => own[name]),
        1,
      );
      return all;
    },
  };
}

function add(counts: Counts, more: readonly number[], times: 1 | -1): void {
  for (const [place, name] of names.entries()) counts[name] += times * (more[place] ?? 0);
}

function figuresOf(words: readonly string[]): Figures {
  const [entries = 0, bytes = 0, hits = 0, misses = 0, joined = 0, evictions = 0, errors = 0] =
    words.map(Number);
  return { entries, bytes, hits, misses, joined, evictions, errors };
}
