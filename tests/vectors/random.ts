import { createRandom } from '../jsonrpc/random-json.ts';

/** Returns a number from -1 to 1. The numbers repeat for the same seed. */
export type Dice = () => number;

export function createDice(seed: number): Dice {
  const random = createRandom(seed);
  return () => 2 * random() - 1;
}

/** Returns a vector of any direction. */
export function vectorOf(dice: Dice, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  // `Float32Array.from({ length }, dice)` takes five times as long.
  for (let at = 0; at < dimensions; at++) vector[at] = dice();
  return vector;
}

/** Returns a UUID. */
export function idOf(dice: Dice): string {
  const digits = Array.from({ length: 32 }, () => Math.floor((dice() + 1) * 8).toString(16));
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
