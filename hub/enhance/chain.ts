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

/** A prompt in progress. */
export type PromptWork = {
  readonly chosen: ChosenRule;
  /** The normalized prompt. */
  readonly prompt: string;
  /** Monotonic time limit for all models. */
  readonly endsAt: number;
  /** Failed models so far. */
  readonly attempts: Attempt[];
  readonly tell: (progress: EnhanceProgress) => void;
};

/** One caller for all calls of a prompt: they count once against the breaker. */
type AskedWork = PromptWork & { readonly caller: ModelCaller };

/** Timeout for the list of models, slightly above that of `models` itself. */
const listMs = 5_500;
/** Minimum time for an attempt. */
const leastMs = 250;
/** Share of the remaining time for a model that is not the last. */
const share = 2 / 3;
/** Added to the timeout of `models`, whose error message says more. */
const graceMs = 100;

/** Asks the models of a rule in order. */
export function createChain(needs: {
  readonly models: Pick<Models, 'find' | 'complete' | 'absence'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The num_ctx for all calls of a model. */
  readonly contextSize: (model: string) => number | undefined;
}) {
  const { models, clock, log, contextSize } = needs;
  let isSilent = false;

  /** Logs once that no model answers, until one does. */
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

  /** The checked answer of a model, or why there is none. */
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
      // If Ollama cannot list its models, the other attempts would fail too.
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
    const request = {
      model,
      ...frame(prompt, rule.systemPrompt),
      options: { ...rule.options, num_ctx: contextSize(model) ?? rule.options.num_ctx },
      firstTokenMs: Math.min(isLoaded ? rule.firstTokenMs : rule.loadMs, totalMs),
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

  /** The first usable answer; undefined if all models failed. */
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
      // What quotes the prompt is not logged.
      const logged = isOutputFault(attempt) ? { model, kind, tookMs } : attempt;
      log.info({ ...logged, client: chosen.client }, 'a model gave no prompt');
      if ('isFinal' in answer && answer.isFinal) break;
    }
    return undefined;
  }

  return {
    logSilence,
    /** Rejects only with the reason of `signal`. */
    async run(work: PromptWork, signal: AbortSignal): Promise<CachedResult> {
      const { chosen, attempts } = work;
      const written = await firstAnswer(work, signal);
      if (!written) {
        const reason = attempts.map(inWords).join('. ') || 'no time was left for a model';
        // `cancelled`: the hub stops.
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

/** `isFinal`: no other model can be asked. */
type Fault = Pick<Attempt, 'kind' | 'message'> & { readonly isFinal?: boolean };
