import { createHash } from 'node:crypto';
import { isObject, setBounded } from '#core';
import type { Journal } from '#store';
import type { ToolText } from './tool-text.ts';

export type VectorStore = ReturnType<typeof createVectorStore>;

/** Maximum number of vectors, of which 1,024 numbers take 4 KB. The oldest are dropped. */
const maxVectors = 5_000;
/** Changes with what is embedded of a tool, and how. */
const version = 'v1';

/**
 * Keeps the vectors of tools by a hash of what is embedded of them and the digest of the model, so that a tool is embedded
 * once, whatever its server does, and never compared with a vector of another model. `openJournal` gets what the journal
 * consists of when it is compacted.
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
    /** Reads the vectors of earlier runs, at the first call. Never rejects. */
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

/** The key of a tool's vector. */
export const vectorKey = ({ embedded }: ToolText, modelDigest: string): string =>
  createHash('sha256')
    .update(JSON.stringify([version, modelDigest, ...embedded]))
    .digest('base64url');

const recordOf = (key: string, vector: Float32Array) => ({
  key,
  vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
});

function readRecord(record: unknown) {
  const { key, vector } = isObject(record) ? record : {};
  if (typeof key !== 'string' || typeof vector !== 'string') return undefined;
  // A copy starts at a multiple of four bytes, as numbers must.
  const bytes = new Uint8Array(Buffer.from(vector, 'base64'));
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return { key, vector: new Float32Array(bytes.buffer) };
}
