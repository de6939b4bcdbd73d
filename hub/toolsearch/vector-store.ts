import { hash } from 'node:crypto';
import { isObject, setBounded } from '#core';
import type { Journal } from '#store';
import type { ToolText } from './tool-text.ts';

export type VectorStore = ReturnType<typeof createVectorStore>;

/** Maximum number of vectors, the oldest of which are dropped. A vector of 1,024 numbers takes 4 KB. */
const maxVectors = 5_000;
/** Part of each key. Increment it when the embedded texts of a tool change. */
const version = 'v1';

/**
 * Creates a store of tool vectors. Their key is a hash of the embedded texts and the digest of the model: a tool is
 * embedded once, also if its server restarts, and never compared with a vector of another model. `openJournal` gets a
 * function that returns the records for a compacted journal.
 */
export function createVectorStore(openJournal: (snapshot: () => readonly object[]) => Journal) {
  const vectors = new Map<string, Float32Array>();
  const journal = openJournal(() => Array.from(vectors, ([key, vector]) => recordOf(key, vector)));
  let opening: Promise<void> | undefined;

  async function load(): Promise<void> {
    for (const record of await journal.open()) {
      const read = readRecord(record);
      if (read) setBounded(vectors, read.key, read.vector, maxVectors);
    }
  }

  return {
    /** Reads the vectors of earlier runs of the hub, at the first call. Never rejects. */
    open: () => (opening ??= load()),
    find: (key: string) => vectors.get(key),
    async put(key: string, vector: Float32Array): Promise<void> {
      setBounded(vectors, key, vector, maxVectors);
      await journal.append(recordOf(key, vector));
    },
    async close(): Promise<void> {
      await opening;
      await journal.close();
    },
  };
}

/** Returns the key of a tool's vector. */
export const vectorKey = ({ embedded }: ToolText, modelDigest: string): string =>
  hash('sha256', JSON.stringify([version, modelDigest, ...embedded]), 'base64url');

const recordOf = (key: string, vector: Float32Array) => ({
  key,
  vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
});

function readRecord(record: unknown) {
  const { key, vector } = isObject(record) ? record : {};
  if (typeof key !== 'string' || typeof vector !== 'string') return undefined;
  // Copied, because a Float32Array must start at a multiple of four bytes.
  const bytes = new Uint8Array(Buffer.from(vector, 'base64'));
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return { key, vector: new Float32Array(bytes.buffer) };
}
