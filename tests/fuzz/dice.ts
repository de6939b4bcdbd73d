import { createRandom, randomJson, under } from '../jsonrpc/random-json.ts';
import { oddIds, plainIds } from './vocabulary.ts';

/** Random choices that are the same for the same seed. */
export type Dice = {
  readonly random: () => number;
  /** Returns true with probability `of`, from 0 to 1. */
  readonly chance: (of: number) => boolean;
  /** Returns an integer from 0 to `below - 1`. */
  readonly under: (below: number) => number;
  readonly pick: <T>(from: readonly T[]) => T;
  /** Returns a random JSON text, mostly of the wrong type for its place. */
  readonly odd: () => string;
  /** Returns an id that JSON-RPC allows, as JSON text. */
  readonly idText: () => string;
};

export function createDice(seed: number): Dice {
  const random = createRandom(seed);
  const chance = (of: number) => random() < of;
  const below = (count: number) => under(random, count);
  function pick<T>(from: readonly T[]): T {
    const one = from[below(from.length)];
    if (one === undefined) throw new TypeError('nothing to pick from');
    return one;
  }

  function odd(): string {
    switch (below(6)) {
      case 0:
        return pick(['null', 'true', '0', '-1', '1.5', '""', '[]', '{}', '[{}]', '{"":{}}']);
      case 1:
        return pick(oddIds);
      case 2:
        return `"${pick(['x', String.raw`\u0000`, String.raw`\ud800`, '漢', '\u2028']).repeat(
          below(3000),
        )}"`;
      case 3:
        return deep(1 + below(chance(0.05) ? 700 : 60));
      default:
        return randomJson(random, 3);
    }
  }

  return {
    random,
    chance,
    under: below,
    pick,
    odd,
    idText: () => (chance(0.75) ? pick(plainIds) : pick(oddIds)),
  };
}

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
