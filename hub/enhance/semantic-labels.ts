import { cacheKey } from '#cache';

/** What a judge has said of two prompts. */
export type Label = 'same' | 'different';

/** What was said of pairs of prompts, so that nothing is judged twice. */
export interface Labels {
  readonly size: number;
  /** Of two prompts in a scope, whichever comes first. */
  key(scope: string, a: string, b: string): string;
  find(key: string): Label | undefined;
  set(key: string, label: Label): void;
  clear(): void;
}

/** Above this the oldest label goes. 1 MB. */
const maxLabels = 10_000;

/** Labels in memory: they are a saving, and what was approved is in the index as another name. */
export function createLabels(): Labels {
  const labels = new Map<string, Label>();
  return {
    get size() {
      return labels.size;
    },
    key: (scope, a, b) => cacheKey([scope, ...[a, b].toSorted()]),
    find: key => labels.get(key),
    set(key, label) {
      labels.delete(key);
      labels.set(key, label);
      const [oldest] = labels.keys();
      if (labels.size > maxLabels && oldest !== undefined) labels.delete(oldest);
    },
    clear: () => labels.clear(),
  };
}
