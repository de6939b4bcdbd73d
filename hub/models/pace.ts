import type { Clock } from '#core';

/** Durations that Ollama reports in the last line of an answer. */
type AnswerFigures = {
  readonly promptTokens: number | undefined;
  /** Time to read the prompt (prefill), in ms. */
  readonly promptMs: number | undefined;
  readonly loadMs: number | undefined;
};

type Pace = {
  /** Prefill in ms per token, the slowest of late: a prompt that begins like the one before is read faster. */
  tokenMs: number | undefined;
  /** Like `tokenMs`, as far as prompts that were given up since the last answer show: it takes longer than this. */
  givenUpTokenMs: number;
  /** The longest load. */
  loadMs: number;
  /** Usual duration of a call, in ms. */
  usualMs: number;
  /** Until when Ollama may work on prompts that were given up, in monotonic ms. */
  abandonedUntilMs: number;
};

/** Prefill in ms per token before the first measurement: a small model on a CPU. */
const assumedTokenMs = 10;
/** The time for fewer tokens says nothing about each. */
const leastTokens = 20;
/** Code and most languages have more characters per token. */
const charactersPerToken = 3;
/** The first token may take this many times the expected time. */
const margin = 2;
/** Share of the newest measurement in an average. */
const weight = 0.2;

/** Learns how long each model takes, so that a long prompt on a slow machine is not mistaken for a silent Ollama. */
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
     * Patience for the first token of a prompt of `length` characters. At least `leastMs`; more if the prompt is long,
     * if prompts that were given up are still being read, or if the model is loaded again (`isSwitch`): it then waits for
     * those of the model that was in memory before.
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
    /** A token has come: Ollama reads no earlier prompt any more. */
    heard: (model: string): void => void (paceOf(model).abandonedUntilMs = -Infinity),
    /**
     * A call was given up before its first token. Ollama (seen in 0.24) reads the prompt to its end: if it has already
     * taken longer than expected, possibly as long again. The next call gets at least twice the time, so that a few
     * calls find out how slow the machine is, instead of each giving up behind the rest of the one before.
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
