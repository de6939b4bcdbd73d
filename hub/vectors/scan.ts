/** Some points of one scope, in the order in which they were put. */
export type Block = {
  /** As many vectors as there is room for, one behind the other. */
  readonly vectors: Float32Array;
  /** The numbers of the points; 0 where one was removed. */
  readonly numbers: Float64Array;
  /** When each expires, in milliseconds since the epoch. */
  readonly expiry: Float64Array;
  /** How many places are taken, those of removed points among them. */
  used: number;
  /** How many points are in it. */
  live: number;
  /** The number of the point that was put in last. */
  last: number;
};

/** A point by its number. */
export type Candidate = { readonly number: number; readonly score: number };

/** The nearest of all points that it was shown. */
export interface Nearest {
  /** The nearest first. */
  readonly found: readonly Candidate[];
  /** Shows it the points of a block that have not expired by `now`. */
  scan(block: Block, vector: Float32Array, now: number): void;
}

/** Room for so many numbers in one block: 64 vectors of 768, which are read in a millisecond or two. */
const numbersPerBlock = 49_152;

/** How many vectors of so many numbers one block holds. */
export const rowsPerBlock = (dimensions: number): number =>
  Math.max(1, Math.floor(numbersPerBlock / dimensions));

/** A block with no point in it. */
export function createBlock(dimensions: number): Block {
  const rows = rowsPerBlock(dimensions);
  return {
    vectors: new Float32Array(rows * dimensions),
    numbers: new Float64Array(rows),
    expiry: new Float64Array(rows),
    used: 0,
    live: 0,
    last: 0,
  };
}

/** Adds a point behind those that are there, where there is room; false where there is none. */
export function addTo(
  block: Block,
  number: number,
  vector: Float32Array,
  expiresAt: number,
): boolean {
  if (block.used === block.numbers.length) return false;
  block.vectors.set(vector, block.used * vector.length);
  block.numbers[block.used] = number;
  block.expiry[block.used] = expiresAt;
  block.used++;
  block.live++;
  block.last = number;
  return true;
}

/** Takes a point out; false where it is not there. */
export function removeFrom(block: Block, number: number): boolean {
  const row = block.numbers.subarray(0, block.used).indexOf(number);
  if (row < 0) return false;
  block.numbers[row] = 0;
  block.live--;
  return true;
}

/** Memory that a block takes. */
export const bytesOf = ({ vectors, numbers, expiry }: Block): number =>
  vectors.byteLength + numbers.byteLength + expiry.byteLength;

/** Keeps `limit` points at the most, with scores above `minScore`. */
export function createNearest(limit: number, minScore: number): Nearest {
  const found: Candidate[] = [];
  const floor = () => (found.length < limit ? minScore : (found.at(-1)?.score ?? minScore));
  return {
    found,
    scan(block, vector, now) {
      for (let row = 0; row < block.used; row++) {
        const number = block.numbers[row] ?? 0;
        if (number === 0 || (block.expiry[row] ?? 0) <= now) continue;
        const score = Math.min(1, dot(vector, block.vectors, row * vector.length));
        if (!(score > floor()) || limit < 1) continue;
        // A block that was added to is shown again.
        if (found.some(one => one.number === number)) continue;
        const at = found.findIndex(one => one.score < score);
        found.splice(at < 0 ? found.length : at, 0, { number, score });
        if (found.length > limit) found.pop();
      }
    },
  };
}

/** Four sums, which the processor adds to at the same time. */
function dot(a: Float32Array, b: Float32Array, from: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const whole = a.length - (a.length % 4);
  for (let at = 0; at < whole; at += 4) {
    first += (a[at] ?? 0) * (b[from + at] ?? 0);
    second += (a[at + 1] ?? 0) * (b[from + at + 1] ?? 0);
    third += (a[at + 2] ?? 0) * (b[from + at + 2] ?? 0);
    fourth += (a[at + 3] ?? 0) * (b[from + at + 3] ?? 0);
  }
  for (let at = whole; at < a.length; at++) first += (a[at] ?? 0) * (b[from + at] ?? 0);
  return first + second + third + fourth;
}
