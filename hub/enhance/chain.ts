import { type Clock, type Log, DeadlineExceeded, messageOf, within } from '#core';
import { type FailureKind, type Models, ModelFailure } from '#models';
import { type OutputFault, findFault } from './check-output.ts';
import type { ChosenRule } from './rules.ts';

/** Why an attempt failed. */
export type AttemptKind =
  | FailureKind
  | OutputFault['kind']
  /** The model cannot complete text. */
  | 'incapable';

/** A failed attempt with a model. */
export type Attempt = {
  readonly model: string;
  readonly kind: AttemptKind;
  /** A sentence about the model. */
  readonly message: string;
  readonly tookMs: number;
};

/** Progress of one prompt. */
export type EnhanceProgress =
  | { readonly step: 'model'; readonly model: string }
  /** The next piece of a model's answer, which is not checked yet. */
  | { readonly step: 'text'; readonly model: string; readonly text: string }
  | ({ readonly step: 'failed' } & Attempt);

/** A checked answer of a model. */
export type Written = {
  readonly text: string;
  readonly model: string;
  readonly digest: string;
};

type Work = {
  readonly chosen: ChosenRule;
  readonly prompt: string;
  /** Monotonic time limit for all models. */
  readonly endsAt: number;
  /** Receives each failed attempt. */
  readonly attempts: Attempt[];
  readonly tell: (progress: EnhanceProgress) => void;
};

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
  readonly models: Pick<Models, 'find' | 'complete'>;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { models, clock, log } = needs;

  /** The timeout for the first token, or why the model cannot be asked. */
  async function findModel(model: string, { chosen, endsAt }: Work, signal: AbortSignal) {
    const { rule } = chosen;
    const leftMs = Math.min(listMs, Math.max(leastMs, endsAt - clock.monotonic()));
    const info = await within(leftMs, { clock, signal }, inTime => models.find(model, inTime));
    if (!info) return fault('missing', absent(model));
    if (info.capabilities && !info.capabilities.includes('completion'))
      return fault('incapable', `it cannot complete text, only: ${info.capabilities.join(', ')}`);
    return { firstTokenMs: info.isLoaded ? rule.firstTokenMs : rule.loadMs };
  }

  async function ask(
    model: string,
    { isLast, firstTokenMs }: { readonly isLast: boolean; readonly firstTokenMs: number },
    { chosen, prompt, endsAt, tell }: Work,
    signal: AbortSignal,
  ) {
    const { rule } = chosen;
    const leftMs = endsAt - clock.monotonic();
    const totalMs = isLast ? leftMs : Math.max(leastMs, leftMs * share);
    const completion = await within(totalMs + graceMs, { clock, signal }, inTime =>
      models.complete(
        {
          model,
          system: rule.systemPrompt,
          prompt,
          options: { ...rule.options },
          firstTokenMs: Math.min(firstTokenMs, totalMs),
          totalMs,
          progress: text => tell({ step: 'text', model, text }),
        },
        inTime,
      ),
    );
    const { text, digest } = completion;
    return findFault(text, prompt, rule.maxGrowth) ?? { text, model, digest };
  }

  return {
    /** Undefined if all models failed. Rejects only with the reason of `signal`. */
    async run(work: Work, signal: AbortSignal): Promise<Written | undefined> {
      const { chosen, attempts, tell, endsAt } = work;
      for (const [index, model] of chosen.models.entries()) {
        const startedAt = clock.monotonic();
        if (endsAt - startedAt < leastMs) break;
        const note = ({ kind, message }: Fault) => {
          const tookMs = Math.round(clock.monotonic() - startedAt);
          const attempt = { model, kind, message, tookMs };
          attempts.push(attempt);
          tell({ step: 'failed', ...attempt });
          log.info({ ...attempt, client: chosen.client }, 'a model gave no prompt');
        };
        let isFound = false;
        try {
          const ready = await findModel(model, work, signal);
          if ('kind' in ready) {
            note(ready);
            continue;
          }
          isFound = true;
          tell({ step: 'model', model });
          const isLast = index === chosen.models.length - 1;
          const answer = await ask(model, { ...ready, isLast }, work, signal);
          if (!('kind' in answer)) return answer;
          note(answer);
        } catch (error) {
          signal.throwIfAborted();
          const { kind, message } = faultOf(error, model);
          note({ kind, message });
          // If Ollama cannot list its models, the other attempts would fail too.
          if (!isFound || kind === 'breaker_open') break;
        }
      }
      return undefined;
    },
  };
}

type Fault = { readonly kind: AttemptKind; readonly message: string };
const fault = (kind: AttemptKind, message: string): Fault => ({ kind, message });

function faultOf(error: unknown, model: string): Fault {
  if (error instanceof DeadlineExceeded) return fault('timeout', error.message);
  if (!(error instanceof ModelFailure)) return fault('malformed', messageOf(error));
  return fault(error.kind, error.kind === 'missing' ? absent(model) : error.message);
}

const absent = (model: string) =>
  `Ollama does not have it. Get it with "ollama pull ${model}" or POST /ollama/models/${model.replaceAll('/', '%2F')}/pull`;
