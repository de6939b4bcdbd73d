import { cacheKey } from '#cache';
import { type Clock, type Log, isObject, messageOf, tryParseJson } from '#core';
import type { Table } from '#store';
import type { Judge, Judgement } from './judge.ts';
import { classOf } from './pair-class.ts';

export type Label = Exclude<Judgement, 'unknown'>;

/** Answers of the judge about the pairs of a class. */
type ClassVerdict = {
  /** `mixed`: the judge gave different answers. The class then has no label until the verdict expires. */
  readonly label: Label | 'mixed';
  /** Keys of the pairs that the judge has compared. */
  readonly pairs: readonly string[];
  /** Time of expiry in milliseconds since the epoch. */
  readonly expiresAt: number;
};

type Needs = {
  readonly judge: Judge | undefined;
  /** Stores the verdicts by class. */
  readonly table: Pick<Table, 'find' | 'put' | 'remove' | 'entries'>;
  /** Returns true while a model is used by prompts. */
  readonly isBusy: () => boolean;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly log: Log;
};

/** Pause before each judgement, in ms. The judge shares the machine with other models, and clients have priority. */
const pauseMs = 5_000;
/** Maximum number of pairs of a class that are judged. Later ones confirm the first answer. */
const maxJudged = 3;
/** Lifetime of a verdict in ms: 30 days. */
const lifetimeMs = 2_592_000_000;

/**
 * Asks the judge about pairs for which the guards are unsure, in the background and one pair at a time. The answer
 * applies to all pairs that differ in the same words (`pair-class.ts`), until the judge contradicts it for such a pair.
 * If no judge is configured, earlier answers are not used either.
 */
export function createJudgements(
  { maxWaiting }: { readonly maxWaiting: number },
  { judge, table, isBusy, clock, log }: Needs,
) {
  const judged = { same: 0, different: 0, unknown: 0 };
  /** Pairs that wait for the judge, by key, including the pair that is being judged. */
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

  /** Judges a waiting pair, unless models are busy with prompts, and schedules the next one. */
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
    // The same pair may have been added again after `forget`.
    if (waiting.get(key) === pair) waiting.delete(key);
  }

  return {
    /** Numbers of answers of the judge, of pairs that wait, and of pairs dropped because too many waited. */
    get stats() {
      return { judgements: { ...judged }, waiting: waiting.size, refused };
    },
    /** Resolves with the judge's answer for the class of a pair; undefined if there is none, or if answers differ. */
    async labelOf(a: string, b: string): Promise<Label | undefined> {
      const known = judge && (await find(keyOf(a, b)));
      return known?.label === 'mixed' ? undefined : known?.label;
    },
    /** Queues a pair for the judge, unless it already waits, its class was judged often, or the queue is full. */
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
    /** Deletes all answers, including pending ones, and the pairs that wait. */
    async forget(): Promise<void> {
      epoch++;
      waiting.clear();
      await Promise.all((await table.entries()).map(([key]) => table.remove(key)));
    },
    /** Cancels the current judgement, and removes the pairs that wait. */
    stop(): void {
      ended.abort();
      waiting.clear();
      timer?.[Symbol.dispose]();
    },
  };
}

/** Parses a stored verdict; undefined if the text has another format. */
function parseVerdict(text: string | undefined): ClassVerdict | undefined {
  const value = tryParseJson(text ?? '');
  if (!isObject(value)) return undefined;
  const { label, pairs, expiresAt } = value;
  if (label !== 'same' && label !== 'different' && label !== 'mixed') return undefined;
  if (!Array.isArray(pairs) || typeof expiresAt !== 'number') return undefined;
  return { label, pairs: pairs.map(String), expiresAt };
}
