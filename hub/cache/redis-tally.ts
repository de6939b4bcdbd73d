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

/** What one hub counts by itself, until Redis has it. */
export interface Tally {
  count(name: 'hits' | 'misses' | 'joined' | 'errors'): void;
  /** Tells Redis what was counted. Never rejects: what was not taken is told the next time. */
  tell(): Promise<void>;
  /** The figures of all hubs as they are now, or as they were last seen, with what is not told yet. */
  figures(): Promise<Figures>;
}

const names = ['hits', 'misses', 'joined', 'errors'] as const;
type Counts = Record<(typeof names)[number], number>;
const none: Readonly<Counts> = { hits: 0, misses: 0, joined: 0, errors: 0 };

/** Nothing counted as yet. */
export function createTally(reach: Pick<Reach, 'tell'>): Tally {
  /** What is in none of the figures that were seen, and which part of it was told, but not answered. */
  const [own, told]: readonly [Counts, Counts] = [{ ...none }, { ...none }];
  let seen: Figures = { entries: 0, bytes: 0, evictions: 0, ...none };

  /** True where more has expired than was taken out. */
  async function tell(): Promise<boolean> {
    const telling = names.map(name => own[name] - told[name]);
    add(told, telling, 1);
    const { inTime, atLast } = reach.tell(countScript, telling);
    const taken = atLast.then(answer => {
      add(told, telling, -1);
      if (!answer) return;
      seen = figuresOf(answer.slice(2));
      if (answer[0] === 'counted') add(own, telling, -1);
    });
    const answer = await inTime;
    if (answer) await taken;
    return answer?.[1] === 'more';
  }

  return {
    count: name => void own[name]++,
    tell: async () => void (await tell()),
    async figures() {
      while (await tell());
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
