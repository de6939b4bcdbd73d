import type { Clock } from '#core';

/** Measurements that Ollama reports in the last line of an answer. */
type AnswerFigures = {
  readonly promptTokens: number | undefined;
  /** Time to process the prompt (prefill), in ms. */
  readonly promptMs: number | undefined;
  readonly loadMs: number | undefined;
};

type Pace = {
  /** Prefill in ms per token, weighted towards slow prompts: one that begins like the previous prompt is faster. */
  tokenMs: number | undefined;
  /** Lower bound of the prefill in ms per token, from prompts of calls that were abandoned since the last answer. */
  givenUpTokenMs: number;
  /** Longest time to load the model, in ms. */
  loadMs: number;
  /** Usual duration of a call, in ms. */
  usualMs: number;
  /** Time until which Ollama may process prompts of abandoned calls, in monotonic ms. */
  abandonedUntilMs: number;
};

/** Assumed prefill in ms per token before the first measurement: that of a small model on a CPU. */
const assumedTokenMs = 10;
/** Minimum number of tokens of a prompt to measure its time per token. */
const leastTokens = 20;
/** Estimated characters per token. Code and most languages have more. */
const charactersPerToken = 3;
/** The first token may take this many times as long as expected. */
const margin = 2;
/** Weight of the newest measurement in a moving average. */
const weight = 0.2;

/** Measures how fast each model is, so that a long prompt on a slow machine is not mistaken for a hanging Ollama. */
export function createPaces(clock: Pick<Clock, 'monotonic'>) {
  const paces = new Map<string, Pace>();

  function paceOf(model: string): Pace {
    const known = paces.get(model);
    if (known) return known;
    const pace: Pace = {
      tokenMs: undefined,
      givenUpTokenMs: 0,
      loadMs: 0,
      usualMs: 0,
      abandonedUntilMs: -Infinity,
    };
    paces.set(model, pace);
    return pace;
  }

  const prefillMs = ({ tokenMs = assumedTokenMs, givenUpTokenMs }: Pace, length: number) =>
    (length / charactersPerToken) * Math.max(tokenMs, givenUpTokenMs);

  return {
    /**
     * Timeout in ms for the first token of a prompt of `length` characters, at least `leastMs`. It is longer if the
     * prompt is long, if Ollama still processes prompts of abandoned calls, or if the model is loaded again
     * (`isSwitch`): then abandoned calls of other models count, too.
     */
    patienceMs(model: string, length: number, leastMs: number, isSwitch: boolean): number {
      const pace = paceOf(model);
      const expectedMs = prefillMs(pace, length) + (isSwitch ? pace.loadMs : 0);
      const concerned = isSwitch ? [...paces.values()] : [pace];
      const busyUntilMs = Math.max(...concerned.map(({ abandonedUntilMs }) => abandonedUntilMs));
      const leftMs = Math.max(0, busyUntilMs - clock.monotonic());
      return Math.max(leastMs, leastMs / 2 + margin * expectedMs) + leftMs;
    },
    /** Usual duration of a call in ms; 0 before the first answer. */
    usualMs: (model: string): number => paceOf(model).usualMs,
    answered(model: string, tookMs: number, figures: AnswerFigures): void {
      const pace = paceOf(model);
      const { promptTokens = 0, promptMs = 0, loadMs = 0 } = figures;
      pace.givenUpTokenMs = 0;
      pace.usualMs = pace.usualMs === 0 ? tookMs : mixed(pace.usualMs, tookMs);
      if (promptTokens >= leastTokens && promptMs > 0) {
        const tokenMs = promptMs / promptTokens;
        pace.tokenMs = Math.max(tokenMs, mixed(pace.tokenMs ?? tokenMs, tokenMs));
      }
      pace.loadMs = Math.max(loadMs, pace.loadMs);
    },
    /** Records a token: Ollama no longer processes an earlier prompt. */
    heard: (model: string): void => void (paceOf(model).abandonedUntilMs = -Infinity),
    /**
     * Records that a call was abandoned before its first token. Ollama (seen in 0.24) processes the prompt to its end.
     * If that has already taken longer than expected, it may take as long again. The next call gets at least twice the
     * time, so that a few calls measure the speed of the machine, instead of each timing out behind the prompt of the
     * previous call.
     */
    abandoned(model: string, length: number, afterMs: number): void {
      const pace = paceOf(model);
      const now = clock.monotonic();
      const expectedMs = prefillMs(pace, length);
      const beforeMs = Math.max(0, pace.abandonedUntilMs - (now - afterMs));
      const spentMs = Math.max(0, afterMs - beforeMs);
      const leftMs = expectedMs > spentMs ? expectedMs - spentMs : spentMs;
      pace.abandonedUntilMs = Math.max(now, pace.abandonedUntilMs) + leftMs;
      const tokenMs = spentMs / Math.max(length / charactersPerToken, leastTokens);
      pace.givenUpTokenMs = Math.max(pace.givenUpTokenMs, tokenMs);
    },
  };
}

const mixed = (old: number, latest: number) => old + weight * (latest - old);
