import { createHash } from 'node:crypto';
import { type Clock, setBounded } from '#core';

/** Counts the tokens of texts. */
export interface TokenCounter {
  /** The tokens of each text, in order; undefined for texts that could not be counted. Never rejects. */
  readonly count: (texts: readonly string[]) => Promise<readonly (number | undefined)[]>;
}

type Needs = {
  readonly clock: Pick<Clock, 'after'>;
  /** Counts each text. Default: in a thread of its own, with the encoding o200k_base. */
  readonly countAll?: (texts: readonly string[]) => Promise<readonly number[]>;
};

/** Maximum number of counts that are kept. The oldest is dropped first. */
const maxKept = 20_000;

/** Creates a counter that counts each text once. It loads the tokenizer with the first text, and only while it counts. */
export function createTokenCounter({ clock, countAll }: Needs): TokenCounter {
  // Loaded on demand, and with a file of its own in a build, which the thread starts with.
  const work =
    countAll ?? (async texts => (await import('./thread.ts')).countInThread(texts, { clock }));
  const kept = new Map<string, number>();
  /** One batch at a time: two would hold two tokenizers in memory. */
  let last: Promise<unknown> = Promise.resolve();

  async function countNew(texts: ReadonlyMap<string, string>): Promise<void> {
    const missing = [...texts].filter(([key]) => !kept.has(key));
    if (missing.length === 0) return;
    const counts = await work(missing.map(([, text]) => text));
    for (const [index, [key]] of missing.entries()) {
      const count = counts[index];
      if (count !== undefined) setBounded(kept, key, count, maxKept);
    }
  }

  return {
    async count(texts) {
      const keys = texts.map(hashOf);
      const byKey = new Map(texts.map((text, index) => [keys[index] ?? '', text]));
      if (keys.some(key => !kept.has(key))) {
        const counting = last.then(() => countNew(byKey));
        last = counting.catch(() => undefined); // These texts stay without a count until they are asked for again.
        await last;
      }
      return keys.map(key => kept.get(key));
    },
  };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64');
