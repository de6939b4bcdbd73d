import { type Clock, type Log, DeadlineExceeded, messageOf, within } from '#core';
import { type FailureKind, type Models, ModelFailure } from '#models';
import { type OutputFault, findFault } from './check-output.ts';
import type { ChosenRule } from './rules.ts';

/** Why a model gave no prompt that is used. */
export type AttemptKind =
  | FailureKind
  | OutputFault['kind']
  /** The model is there, and is not one that completes text. */
  | 'incapable';

/** A model that was tried, or left out. */
export type Attempt = {
  readonly model: string;
  readonly kind: AttemptKind;
  /** A sentence about the model. */
  readonly message: string;
  readonly tookMs: number;
};

/** What is told while a prompt is worked on. */
export type EnhanceProgress =
  | { readonly step: 'model'; readonly model: string }
  /** More of what a model writes. It is no result before it has been looked at. */
  | { readonly step: 'text'; readonly model: string; readonly text: string }
  | ({ readonly step: 'failed' } & Attempt);

/** A prompt that a model wrote and that can be used. */
export type Written = {
  readonly text: string;
  readonly model: string;
  readonly digest: string;
};

type Work = {
  readonly chosen: ChosenRule;
  readonly prompt: string;
  /** When all of it must be over, by the clock that never goes back. */
  readonly endsAt: number;
  /** Gets each model that gave nothing, as it happens. */
  readonly attempts: Attempt[];
  readonly tell: (progress: EnhanceProgress) => void;
};

/** Asks the models of a rule in turn. */
export interface Chain {
  /** Undefined where no model gave anything. Rejects where the signal is aborted, and for nothing else. */
  run(work: Work, signal: AbortSignal): Promise<Written | undefined>;
}

/** How long Ollama has to say which models it has: a little more than it gets from who asks it. */
const listMs = 5_500;
/** With less time than this left, no further model is begun. */
const leastMs = 250;
/** What one model may take of the time that is left while others stand behind it. */
const share = 2 / 3;
/** What is not over then is given up here; who talks to the model does it before, and knows better why. */
const graceMs = 100;

export function createChain(needs: {
  readonly models: Pick<Models, 'find' | 'complete'>;
  readonly clock: Clock;
  readonly log: Log;
}): Chain {
  const { models, clock, log } = needs;

  /** How long the model has for its first token; or why it is left out. */
  async function look(model: string, { chosen, endsAt }: Work, signal: AbortSignal) {
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
    async run(work, signal) {
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
        let isThere = false;
        try {
          const looked = await look(model, work, signal);
          if ('kind' in looked) {
            note(looked);
            continue;
          }
          isThere = true;
          tell({ step: 'model', model });
          const isLast = index === chosen.models.length - 1;
          const asked = await ask(model, { ...looked, isLast }, work, signal);
          if (!('kind' in asked)) return asked;
          note(asked);
        } catch (error) {
          signal.throwIfAborted();
          const { kind, message } = faultOf(error, model);
          note({ kind, message });
          // An Ollama that does not even say what it has will not do for the others either.
          if (!isThere || kind === 'breaker_open') break;
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
