import type { FailureKind } from './failure.ts';

/** Upper bounds of the buckets of durations in ms: waits and first tokens take from milliseconds to minutes. */
export const durationBoundsMs: readonly number[] = [
  50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/** Histogram of durations. */
type Durations = {
  readonly count: number;
  readonly totalMs: number;
  /** Number of durations in each bucket of `durationBoundsMs`, and last the number above all bounds. */
  readonly buckets: readonly number[];
};

/** Who calls a model: the prompt of a client, an agent, a server, or the hub itself. */
type CallerKind = 'prompt' | 'agent' | 'server' | 'hub';

/** Successful calls of one kind of caller, and their tokens if reported. */
type CallerCounts = {
  readonly caller: CallerKind;
  readonly succeeded: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
};

/** Counts of the calls to one model (completions and embeddings) since the hub started. They never decrease. */
export type ModelCounts = {
  /** Name with tag. Empty for the sum of all models beyond `maxModels`. */
  readonly model: string;
  /** Failed calls by kind: `queue` if the call got no turn in the queue, `cancelled` if its caller cancelled it. */
  readonly failures: { readonly [kind in FailureKind]?: number };
  /** Times that calls waited in the hub's queue, including calls that never got a turn. */
  readonly waits: Durations;
  /** Times from the start of a completion to its first token. The time in the queue is not included. */
  readonly firstTokens: Durations;
  readonly callers: readonly CallerCounts[];
};

/** Maximum number of models with counts of their own. Names come from the rules, which may change often. */
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
    /** Counts a successful call. An undefined `caller` means the hub. */
    succeeded(
      model: string,
      promptTokens = 0,
      outputTokens = 0,
      caller?: { readonly kind?: CallerKind },
    ): void {
      const counts = callerIn(countsOf(model).callers, caller ? (caller.kind ?? 'prompt') : 'hub');
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
  const callers: ReturnType<typeof callerIn>[] = [];
  return { model, failures, waits: newDurations(), firstTokens: newDurations(), callers };
}

const newDurations = () => ({
  count: 0,
  totalMs: 0,
  buckets: Array.from({ length: durationBoundsMs.length + 1 }, () => 0),
});

function callerIn(
  callers: { caller: CallerKind; succeeded: number; promptTokens: number; outputTokens: number }[],
  caller: CallerKind,
) {
  const known = callers.find(one => one.caller === caller);
  if (known) return known;
  const counts = { caller, succeeded: 0, promptTokens: 0, outputTokens: 0 };
  callers.push(counts);
  return counts;
}

function add(durations: ReturnType<typeof newDurations>, tookMs: number): void {
  durations.count++;
  durations.totalMs += tookMs;
  const found = durationBoundsMs.findIndex(bound => tookMs <= bound);
  const bucket = found < 0 ? durationBoundsMs.length : found;
  durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1;
}
