import { hash } from 'node:crypto';
import { type Clock, setBounded } from '#core';

export interface TokenCounter {
  /** Resolves with the token count of each text, in order; undefined for those that failed. Never rejects. */
  readonly count: (texts: readonly string[]) => Promise<readonly (number | undefined)[]>;
}

type Needs = {
  readonly clock: Pick<Clock, 'after'>;
  /** Counts the tokens of each text. Default: in a separate thread, with the encoding o200k_base. */
  readonly countAll?: (texts: readonly string[]) => Promise<readonly number[]>;
};

/** Maximum number of cached counts. The oldest are dropped first. */
const maxKept = 20_000;

/** Creates a counter that counts each text once. The tokenizer is loaded only while new texts are counted. */
export function createTokenCounter({ clock, countAll }: Needs): TokenCounter {
  // Imported on demand. A build has a file of its own for this module, because the thread starts with that file.
  const work =
    countAll ?? (async texts => (await import('./thread.ts')).countInThread(texts, { clock }));
  const kept = new Map<string, number>();
  /** Counts one batch at a time: two would load the tokenizer twice. */
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
        last = counting.catch(() => undefined); // These texts have no count until they are requested again.
        await last;
      }
      return keys.map(key => kept.get(key));
    },
  };
}

const hashOf = (text: string) => hash('sha256', text, 'base64');
