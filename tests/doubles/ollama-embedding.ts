import { createHash } from 'node:crypto';

/** As many numbers as nomic-embed-text gives. */
export const dimensions = 768;

/**
 * A vector of length 1 that depends on the words and the letters of a text only: similar texts are near to
 * each other, the same text is the same on every machine. Nothing of what a text means is in it.
 */
export function embeddingOf(text: string, size = dimensions): readonly number[] {
  const vector = Array.from({ length: size }, () => 0);
  for (const feature of featuresOf(text)) {
    const hash = createHash('sha256').update(feature).digest();
    const at = hash.readUInt32LE(0) % size;
    vector[at] = (vector[at] ?? 0) + (hash.readUInt8(4) % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector.map((_, at) => (at === 0 ? 1 : 0)) : vector.map(v => v / length);
}

/** Its words, and all runs of three characters. */
function featuresOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const line = ` ${words.join(' ')} `;
  const runs = Array.from({ length: Math.max(0, line.length - 2) }, (_, at) =>
    line.slice(at, at + 3),
  );
  return [...words.map(word => `word ${word}`), ...runs.map(run => `run ${run}`)];
}
