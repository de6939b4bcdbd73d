import { cacheKey } from '#cache';
import { type Clock, type Log, isObject, messageOf, tryParseJson } from '#core';
import type { Table } from '#store';
import type { Judge, Judgement } from './judge.ts';
import { classOf } from './pair-class.ts';

export type Label = Exclude<Judgement, 'unknown'>;

/** What the judge said about the pairs of a class. */
type ClassVerdict = {
  /** `mixed`: the judge contradicted itself. Such a class has no label until it expires. */
  readonly label: Label | 'mixed';
  /** Keys of the pairs that were judged. */
  readonly pairs: readonly string[];
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
};

type Needs = {
  readonly judge: Judge | undefined;
  /** Holds the verdicts by class. */
  readonly table: Pick<Table, 'find' | 'put' | 'remove' | 'entries'>;
  /** Whether a model works on something else. */
  readonly isBusy: () => boolean;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly log: Log;
};

/** Pause before each judgement, in ms: the judge shares a machine with other models, and clients come first. */
const pauseMs = 5_000;
/** Pairs of a class that are judged. The later ones confirm the first. */
const maxJudged = 3;
/** 30 days. */
const lifetimeMs = 2_592_000_000;

/**
 * Asks the judge, in the background and one pair at a time, about pairs of which the guards are not sure. Its answer
 * holds for all pairs that differ in the same words (`pair-class.ts`), until it gives another one about such a pair.
 * Without a judge, its earlier answers are not used either.
 */
export function createJudgements(
  { maxWaiting }: { readonly maxWaiting: number },
  { judge, table, isBusy, clock, log }: Needs,
) {
  const judged = { same: 0, different: 0, unknown: 0 };
  /** The pairs that wait for the judge, by key, including the one being judged. */
  const waiting = new Map<string, readonly [string, string]>();
  const ended = new AbortController();
  let timer: Disposable | undefined;
  let refused = 0;
  let epoch = 0;

  const keyOf = (a: string, b: string) => cacheKey([judge?.model ?? '', classOf(a, b)]);
  const pairOf = (a: string, b: string) => cacheKey([a, b].toSorted()).slice(0, 16);

  async function find(key: string): Promise<ClassVerdict | undefined> {
    const verdict = parseVerdict(await table.find(key));
    return verdict && verdict.expiresAt > clock.now() ? verdict : undefined;
  }

  async function keep(label: Label, a: string, b: string): Promise<void> {
    const key = keyOf(a, b);
    const known = await find(key);
    const verdict: ClassVerdict = {
      label: known && known.label !== label ? 'mixed' : label,
      pairs: [...(known?.pairs ?? []), pairOf(a, b)],
      expiresAt: clock.now() + lifetimeMs,
    };
    await table.put(key, JSON.stringify(verdict));
  }

  function schedule(): void {
    if (waiting.size > 0) timer ??= clock.after(pauseMs, () => void atTurn());
  }

  /** Judges a pair if one waits, unless models are busy with prompts, and then plans the next one. */
  async function atTurn(): Promise<void> {
    if (!isBusy()) await judgeNext();
    timer = undefined;
    schedule();
  }

  async function judgeNext(): Promise<void> {
    const [next] = waiting;
    if (!next) return;
    const [key, pair] = next;
    const [a, b] = pair;
    const epochBefore = epoch;
    try {
      const answer = (await judge?.ask(a, b, ended.signal)) ?? 'unknown';
      judged[answer]++;
      if (answer !== 'unknown' && epochBefore === epoch) await keep(answer, a, b);
    } catch (error) {
      if (!ended.signal.aborted)
        log.warn({ error: messageOf(error) }, 'the judge could not be asked');
    }
    // After `forget` the same pair may wait again.
    if (waiting.get(key) === pair) waiting.delete(key);
  }

  return {
    /** Answers of the judge, pairs that wait for it or were dropped because too many waited. */
    get stats() {
      return { judgements: { ...judged }, waiting: waiting.size, refused };
    },
    /** What the judge said about pairs of this class; undefined if it did not, or contradicted itself. */
    async labelOf(a: string, b: string): Promise<Label | undefined> {
      const known = judge && (await find(keyOf(a, b)));
      return known?.label === 'mixed' ? undefined : known?.label;
    },
    /** Has a pair judged, unless it waits already, its class was judged often enough, or the queue is full. */
    async judgeLater(a: string, b: string): Promise<void> {
      if (!judge || ended.signal.aborted) return;
      const pair = pairOf(a, b);
      const epochBefore = epoch;
      const known = await find(keyOf(a, b));
      if (epoch !== epochBefore || ended.signal.aborted) return;
      if (known?.label === 'mixed' || known?.pairs.includes(pair)) return;
      if ((known?.pairs.length ?? 0) >= maxJudged || waiting.has(pair)) return;
      if (waiting.size >= maxWaiting) refused++;
      else waiting.set(pair, [a, b]);
      schedule();
    },
    /** Drops all answers, including pending ones, and the pairs that wait. */
    async forget(): Promise<void> {
      epoch++;
      waiting.clear();
      await Promise.all((await table.entries()).map(([key]) => table.remove(key)));
    },
    /** Cancels the current judgement and drops the pairs that wait. */
    stop(): void {
      ended.abort();
      waiting.clear();
      timer?.[Symbol.dispose]();
    },
  };
}

/** Undefined for a text in another format. */
function parseVerdict(text: string | undefined): ClassVerdict | undefined {
  const value = tryParseJson(text ?? '');
  if (!isObject(value)) return undefined;
  const { label, pairs, expiresAt } = value;
  if (label !== 'same' && label !== 'different' && label !== 'mixed') return undefined;
  if (!Array.isArray(pairs) || typeof expiresAt !== 'number') return undefined;
  return { label, pairs: pairs.map(String), expiresAt };
}
