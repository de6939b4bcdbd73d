import { type Clock, type Log, messageOf } from '#core';
import type { Vectors } from '#vectors';
import { createLaterJudgements } from './judge-later.ts';
import type { Judge, Judgement } from './judge.ts';
import type { SemanticCounter } from './semantic-counts.ts';
import { type Candidate, pointOf } from './semantic-entry.ts';
import { type Label, createLabels } from './semantic-labels.ts';
import type { Place } from './semantic-place.ts';

/** A prompt and what was found near its place. */
type Pair = { readonly prompt: string; readonly candidate: Candidate; readonly place: Place };

/** Has pairs judged that the guards are not sure of, and remembers the answers. */
export interface Verifier {
  /** Pairs that wait for the judge. */
  readonly waiting: number;
  /** Pairs that were not taken, because enough waited. */
  readonly refused: number;
  /** Pairs whose answer is remembered. */
  readonly size: number;
  labelOf(pair: Pair): Label | undefined;
  /**
   * What the judge has said before, or says now where that is awaited; undefined where it will say it later.
   * Rejects with the reason of `signal`.
   */
  verify(
    pair: Pair,
    options: { readonly isAwaited: boolean },
    signal: AbortSignal,
  ): Promise<Label | undefined>;
  /** Forgets all answers, and those that are under way. */
  forget(): void;
  stop(): void;
}

type Needs = {
  readonly vectors: Pick<Vectors, 'put'>;
  readonly judge: Judge | undefined;
  readonly counts: Pick<SemanticCounter, 'judged'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** A judge and the model that answers share a machine. */
const pauseMs = 5_000;

export function createVerifier(
  { maxPerScope, maxWaiting }: { readonly maxPerScope: number; readonly maxWaiting: number },
  { vectors, judge, counts, clock, log }: Needs,
): Verifier {
  const labels = createLabels();
  const later = judge && createLaterJudgements({ maxWaiting, pauseMs }, { judge, clock, log });
  let forgotten = 0;

  const keyOf = ({ prompt, candidate, place }: Pair) =>
    labels.key(place.scope, prompt, candidate.prompt);

  /** A yes makes the prompt another name of the entry: what is like it finds the entry from then on. */
  async function keepLabel(label: Label, pair: Pair): Promise<void> {
    labels.set(keyOf(pair), label);
    if (label !== 'same') return;
    const { prompt, candidate, place } = pair;
    const { collection, scope } = place;
    const point = pointOf({ ...candidate.entry, prompt, isAlias: true }, place);
    try {
      await vectors.put(collection, point, { scope, maxPerScope });
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'a judgement could not be kept');
    }
  }

  return {
    get waiting() {
      return later?.waiting ?? 0;
    },
    get refused() {
      return later?.refused ?? 0;
    },
    get size() {
      return labels.size;
    },
    labelOf: pair => labels.find(keyOf(pair)),
    async verify(pair, { isAwaited }, signal) {
      const key = keyOf(pair);
      const known = labels.find(key);
      if (known || !judge) return known;
      const [a, b] = [pair.candidate.prompt, pair.prompt];
      const since = forgotten;
      const keep = async (answer: Judgement) => {
        counts.judged(answer);
        // What was forgotten meanwhile must not come back by another name.
        if (answer !== 'unknown' && since === forgotten) await keepLabel(answer, pair);
      };
      const answer = isAwaited ? await judge.approve(a, b, signal) : 'unknown';
      if (answer !== 'unknown') {
        await keep(answer);
        return answer;
      }
      if (isAwaited) counts.judged(answer);
      later?.offer({ key, a, b }, keep);
      return undefined;
    },
    forget() {
      forgotten++;
      labels.clear();
    },
    stop: () => later?.stop(),
  };
}
