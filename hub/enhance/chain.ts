import { type Clock, type Log, DeadlineExceeded, messageOf, within } from '#core';
import { type ModelCaller, type Models, ModelFailure } from '#models';
import { checkResult, isOutputFault } from './checks/check-result.ts';
import { frame } from './frame.ts';
import { type Attempt, type CachedResult, inWords } from './result.ts';
import type { ChosenRule } from './rules.ts';

export type EnhanceProgress =
  | { readonly step: 'model'; readonly model: string }
  /** The next piece of a model's answer, which is not checked yet. */
  | { readonly step: 'text'; readonly model: string; readonly text: string }
  | ({ readonly step: 'failed' } & Attempt);

/** A prompt that is being improved. */
export type PromptWork = {
  readonly chosen: ChosenRule;
  /** The prompt, normalized. */
  readonly prompt: string;
  /** Deadline of all models together, in monotonic ms. */
  readonly endsAt: number;
  /** Attempts of models that failed so far. */
  readonly attempts: Attempt[];
  readonly tell: (progress: EnhanceProgress) => void;
};

/** `caller` is the same object for all calls of a prompt, so that the breaker counts at most one failure. */
type AskedWork = PromptWork & { readonly caller: ModelCaller };

/** Timeout of the list of models in ms, slightly above the timeout of `models` itself. */
const listMs = 5_500;
/** Minimum time for an attempt, in ms. */
const leastMs = 250;
/** Share of the remaining time that a model gets, unless it is the last. */
const share = 2 / 3;
/** Time in ms added to the timeout of `models`, so that its failure, which says more, comes first. */
const graceMs = 100;

/** Creates the chain, which calls the models of a rule in order until one gives a usable result. */
export function createChain(needs: {
  readonly models: Pick<Models, 'find' | 'complete' | 'absence'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the context size (`num_ctx`) for all calls of a model. */
  readonly contextSize: (model: string) => number | undefined;
}) {
  const { models, clock, log, contextSize } = needs;
  let isSilent = false;

  /** Logs that no model answers, once until a model answers again. */
  function logSilence(reason: string, attempts: readonly Attempt[]): void {
    if (attempts.some(isOutputFault)) return;
    if (!isSilent) log.warn({ reason }, 'no model answers: prompts are returned unchanged');
    isSilent = true;
  }

  const absent = (model: string) => `Ollama does not have it. ${models.absence(model).remedy}`;

  function faultOf(error: unknown, model: string): Fault {
    if (error instanceof DeadlineExceeded) return { kind: 'timeout', message: error.message };
    if (!(error instanceof ModelFailure)) return { kind: 'malformed', message: messageOf(error) };
    const { kind, message } = error;
    if (kind === 'missing') return { kind, message: absent(model) };
    return { kind, message, isFinal: kind === 'breaker_open' };
  }

  /** Returns the checked answer of a model, or why it gave none. */
  async function ask(
    model: string,
    { chosen, prompt, endsAt, tell, caller }: AskedWork,
    signal: AbortSignal,
  ) {
    const { rule, models: wanted } = chosen;
    const findMs = Math.min(listMs, Math.max(leastMs, endsAt - clock.monotonic()));
    const info = await within(findMs, { clock, signal }, inTime =>
      models.find(model, inTime, caller),
    ).catch(
      // If Ollama cannot list its models, further attempts fail too.
      (error: unknown): Fault => ({ ...faultOf(error, model), isFinal: true }),
    );
    if (!info) return { kind: 'missing', message: absent(model) } as const;
    if ('kind' in info) return info;
    const { capabilities, isLoaded } = info;
    if (capabilities && !capabilities.includes('completion')) {
      const message = `it cannot complete text, only: ${capabilities.join(', ')}`;
      return { kind: 'incapable', message } as const;
    }
    tell({ step: 'model', model });
    const leftMs = endsAt - clock.monotonic();
    const totalMs = model === wanted.at(-1) ? leftMs : Math.max(leastMs, leftMs * share);
    const [firstMs, key] = isLoaded
      ? ([rule.firstTokenMs, 'first_token'] as const)
      : ([rule.loadMs, 'load'] as const);
    const request = {
      model,
      ...frame(prompt, rule.systemPrompt),
      options: { ...rule.options, num_ctx: contextSize(model) ?? rule.options.num_ctx },
      firstTokenMs: Math.min(firstMs, totalMs),
      firstTokenSetting: `"timeouts.${firstMs < totalMs ? key : 'total'}" of the rules for prompts`,
      totalMs,
      progress: (text: string) => tell({ step: 'text', model, text }),
      caller,
    };
    const { text, digest } = await within(totalMs + graceMs, { clock, signal }, inTime =>
      models.complete(request, inTime),
    );
    const checked = checkResult(text, prompt, rule);
    return 'kind' in checked ? checked : { ...checked, model, digest };
  }

  /** Returns the first usable answer; undefined if all models failed. */
  async function firstAnswer(work: PromptWork, signal: AbortSignal) {
    const { chosen, attempts, tell, endsAt } = work;
    const asked = { ...work, caller: { client: chosen.client } };
    for (const model of chosen.models) {
      const startedAt = clock.monotonic();
      if (endsAt - startedAt < leastMs) break;
      const answer = await ask(model, asked, signal).catch((error: unknown) =>
        faultOf(error, model),
      );
      if (!('kind' in answer)) return answer;
      signal.throwIfAborted();
      const { kind, message } = answer;
      const tookMs = Math.round(clock.monotonic() - startedAt);
      const attempt = { model, kind, message, tookMs };
      attempts.push(attempt);
      tell({ step: 'failed', ...attempt });
      // The message of a rejected answer may quote the prompt, so it is not logged.
      const logged = isOutputFault(attempt) ? { model, kind, tookMs } : attempt;
      log.info({ ...logged, client: chosen.client }, 'a model gave no prompt');
      if ('isFinal' in answer && answer.isFinal) break;
    }
    return undefined;
  }

  return {
    logSilence,
    /** Resolves with the first usable result, or why there is none. Rejects only with the reason of `signal`. */
    async run(work: PromptWork, signal: AbortSignal): Promise<CachedResult> {
      const { chosen, attempts } = work;
      const written = await firstAnswer(work, signal);
      if (!written) {
        const reason = attempts.map(inWords).join('. ') || 'no time was left for a model';
        // Kind `cancelled` means that the hub stops.
        if (attempts.some(({ kind }) => kind !== 'queue' && kind !== 'cancelled'))
          logSilence(reason, attempts);
        return { kind: 'none', reason, attempts };
      }
      const { text, model, digest } = written;
      if (isSilent) log.info({ model }, 'prompts are improved again');
      isSilent = false;
      const isOwn = model === chosen.models[0];
      return { kind: 'made', prompt: text, model, digest, isOwn, attempts };
    },
  };
}

/** Failure of an attempt. `isFinal`: the remaining models would fail, too. */
type Fault = Pick<Attempt, 'kind' | 'message'> & { readonly isFinal?: boolean };
