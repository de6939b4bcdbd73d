import type { FailureKind } from './failure.ts';

/** Number and total of some durations in ms, as in a Prometheus summary without quantiles. */
export type Durations = { readonly count: number; readonly totalMs: number };

/** Calls to one model (completions and embeddings) since the hub started. Everything but the queue only grows. */
export type ModelCounts = {
  /** Name with tag. Empty for all models above the bound of names. */
  readonly model: string;
  readonly succeeded: number;
  /** Failed calls by kind. A call without a turn in the queue fails as `queue`, one that was given up as `cancelled`. */
  readonly failures: { readonly [kind in FailureKind]?: number };
  /** Waits in the queue of the hub, also those that ended without a turn. */
  readonly waits: Durations;
  /** Times from the turn in the queue to the first token of a completion. */
  readonly firstTokens: Durations;
  /** Tokens as far as Ollama reports them. */
  readonly promptTokens: number;
  readonly outputTokens: number;
};

/** Bound for models with counts of their own: names come from the rules, which may change often. */
const maxModels = 100;

/** Counts calls by the full name of the model. */
export function createModelCounts() {
  const byModel = new Map<string, ReturnType<typeof newCounts>>();

  function countsOf(model: string): ReturnType<typeof newCounts> {
    const known = byModel.get(model);
    if (known) return known;
    if (byModel.size >= maxModels && model !== '') return countsOf('');
    const counts = newCounts(model);
    byModel.set(model, counts);
    return counts;
  }

  return {
    waited: (model: string, tookMs: number) => add(countsOf(model).waits, tookMs),
    firstToken: (model: string, tookMs: number) => add(countsOf(model).firstTokens, tookMs),
    succeeded(model: string, promptTokens = 0, outputTokens = 0): void {
      const counts = countsOf(model);
      counts.succeeded++;
      counts.promptTokens += promptTokens;
      counts.outputTokens += outputTokens;
    },
    failed(model: string, kind: FailureKind): void {
      const { failures } = countsOf(model);
      failures[kind] = (failures[kind] ?? 0) + 1;
    },
    all: (): readonly ModelCounts[] => structuredClone([...byModel.values()]),
  };
}

function newCounts(model: string) {
  const failures: { [kind in FailureKind]?: number } = {};
  const [waits, firstTokens] = [
    { count: 0, totalMs: 0 },
    { count: 0, totalMs: 0 },
  ];
  return { model, succeeded: 0, failures, waits, firstTokens, promptTokens: 0, outputTokens: 0 };
}

function add(durations: { count: number; totalMs: number }, tookMs: number): void {
  durations.count++;
  durations.totalMs += tookMs;
}
