import type { AttemptKind } from './chain.ts';
import type { Enhancement } from './enhancement.ts';

/** What has become of prompts since the hub started. */
export type EnhancerStats = {
  readonly requests: number;
  /** Of them, those that are worked on now. */
  readonly running: number;
  readonly sources: Readonly<Record<Enhancement['source'], number>>;
  /** Prompts for which no cache was used: by the client's wish, or because they hold a secret. */
  readonly withoutCache: number;
  /** Why models gave nothing, with how often. */
  readonly failures: { readonly [kind in AttemptKind]?: number };
};

/** Counts prompts. */
export interface Counts {
  readonly stats: EnhancerStats;
  readonly running: number;
  /** A prompt came; disposing says that it is no longer worked on. */
  begin(): Disposable;
  end(outcome: Pick<Enhancement, 'source' | 'cache'>): void;
  /** A prompt came for which something was at hand. */
  hit(outcome: Pick<Enhancement, 'source'>): void;
  failed(kind: AttemptKind): void;
}

export function createCounts(): Counts {
  let requests = 0;
  let running = 0;
  let withoutCache = 0;
  const sources = { model: 0, l1: 0, l2: 0, fallback: 0, unchanged: 0, disabled: 0 };
  const failures: { [kind in AttemptKind]?: number } = {};
  return {
    get running() {
      return running;
    },
    get stats() {
      return {
        requests,
        running,
        sources: { ...sources },
        withoutCache,
        failures: { ...failures },
      };
    },
    begin() {
      requests++;
      running++;
      return { [Symbol.dispose]: () => void running-- };
    },
    end({ source, cache }) {
      sources[source]++;
      if (cache === 'bypass') withoutCache++;
    },
    hit({ source }) {
      requests++;
      sources[source]++;
    },
    failed(kind) {
      failures[kind] = (failures[kind] ?? 0) + 1;
    },
  };
}
