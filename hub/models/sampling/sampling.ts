import { HubError, type JsonObject } from '#core';
import type { ModelBudget } from '../budget.ts';
import type { ChatAnswer } from '../chat/chat-types.ts';
import type { Chats } from '../chat/chats.ts';
import { ModelFailure } from '../failure.ts';
import type { ModelCaller } from '../model-queue.ts';
import { hubErrorOf } from './hub-error.ts';
import { type SamplingParams, readSamplingParams } from './read-params.ts';

/** On whose behalf a request for sampling is answered. */
export type SamplingContext = {
  readonly caller: ModelCaller;
  /** The model of the caller's settings. It goes before the hints of the request. */
  readonly model?: string | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Checked before the call, and charged after it. */
  readonly budget?: Pick<ModelBudget, 'check' | 'spent'> | undefined;
  /** Called with each new piece of text. */
  readonly progress?: ((text: string) => void) | undefined;
};

export interface ModelSampling {
  /** Answers sampling/createMessage: its result, or a HubError that is thrown. */
  answer(params: unknown, context: SamplingContext, signal: AbortSignal): Promise<JsonObject>;
}

/** Creates what answers sampling/createMessage (revision 2025-11-25) by the models of the hub. */
export function createSampling(chats: Chats): ModelSampling {
  /** The model of a request. A hint of an agent is its choice; one of a server is a wish, which no provider fulfils. */
  async function modelFor(
    hints: SamplingParams['hints'],
    { model, caller }: SamplingContext,
    signal: AbortSignal,
  ): Promise<string> {
    const chosen = model ?? (caller.kind === 'agent' ? hints[0] : undefined);
    if (chosen !== undefined) return chosen;
    const { defaultModel } = chats;
    for (const hint of hints) if (await chats.isLocal(hint, signal)) return hint;
    if (defaultModel !== undefined) return defaultModel;
    throw new HubError(
      'HUB_MODEL_UNKNOWN',
      'no model is set: set models.default in the config, or OLLAMA_HOST',
    );
  }

  return {
    async answer(params, context, signal) {
      const { maxOutputTokens = Infinity, budget, progress } = context;
      const { hasTools, hints, ...read } = readSamplingParams(params);
      try {
        const model = await modelFor(hints, context, signal);
        budget?.check();
        const maxTokens = Math.min(read.maxTokens, maxOutputTokens);
        // The breaker counts one failure per caller object.
        const caller = { ...context.caller };
        const answer = await chats.chat({ ...read, model, maxTokens, caller, progress }, signal);
        budget?.spent(answer.usage);
        return resultOf(answer, hasTools || caller.kind === 'agent');
      } catch (error) {
        throw error instanceof ModelFailure ? hubErrorOf(error) : error;
      }
    },
  };
}

/** Servers that sent no tools may be of a revision whose results have a single block. */
function resultOf(answer: ChatAnswer, isList: boolean): JsonObject {
  const { model, stopReason, usage } = answer;
  // Without tools there is a text only.
  const [first = { type: 'text', text: '' }] = answer.content;
  return {
    role: 'assistant',
    model,
    content: isList ? answer.content : first,
    stopReason,
    _meta: {
      'agenthub/usage': { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    },
  };
}
