const draws = 2_000;

/** Returns the quantile of the values for this part, from 0 to 1. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

export type Ratio = { readonly value: number; readonly from: number; readonly to: number };

/**
 * Returns the ratio of two 99th percentiles, and its 95 % confidence interval by a bootstrap over the rounds: values of
 * one block depend on each other, and the two blocks of a round on other load of the machine.
 */
export function ratioOfP99(
  blocks: readonly (readonly number[])[],
  base: readonly (readonly number[])[],
): Ratio {
  const randomBelow = createRandom();
  const ratioOf = (rounds: readonly number[]) => p99Of(blocks, rounds) / p99Of(base, rounds);
  const drawn = Array.from({ length: draws }, () =>
    ratioOf(blocks.map(() => randomBelow(blocks.length))),
  ).toSorted((a, b) => a - b);
  const at = (part: number) => drawn[Math.floor(draws * part)] ?? NaN;
  return { value: ratioOf([...blocks.keys()]), from: at(0.025), to: at(0.975) };
}

const p99Of = (blocks: readonly (readonly number[])[], rounds: readonly number[]) =>
  quantile(
    rounds.flatMap(round => blocks[round] ?? []),
    0.99,
  );

/** Creates a generator of integers below a bound, the same in every run (mulberry32). */
export function createRandom(): (bound: number) => number {
  let state = 1;
  return bound => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}
