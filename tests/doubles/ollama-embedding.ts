import { createHash } from 'node:crypto';

/** Vector length of nomic-embed-text. */
export const dimensions = 768;

/**
 * Returns a unit vector that depends only on the words and letters of a text, and is the same on every machine. Similar
 * texts have near vectors, whatever they mean.
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

/** Returns the words of a text and all its runs of three characters. */
function featuresOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const line = ` ${words.join(' ')} `;
  const runs = Array.from({ length: Math.max(0, line.length - 2) }, (_, at) =>
    line.slice(at, at + 3),
  );
  return [...words.map(word => `word ${word}`), ...runs.map(run => `run ${run}`)];
}
