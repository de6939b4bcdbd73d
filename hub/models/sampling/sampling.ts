import { HubError, type JsonObject } from '#core';
import type { ModelBudget } from '../budget.ts';
import type { ChatAnswer } from '../chat/chat-types.ts';
import type { Chats } from '../chat/chats.ts';
import type { ModelCaller } from '../model-queue.ts';
import { hubErrorOf } from './hub-error.ts';
import { type SamplingParams, readSamplingParams } from './read-params.ts';

/** The caller of a sampling request, and its limits. */
export type SamplingContext = {
  readonly caller: ModelCaller;
  /** Model from the settings of the caller. It has priority over the hints of the request. */
  readonly model?: string | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Budget that is checked before the call and charged after it. */
  readonly budget?: Pick<ModelBudget, 'check' | 'spent'> | undefined;
  /** Called with each new piece of text. */
  readonly progress?: ((text: string) => void) | undefined;
};

export interface ModelSampling {
  /** Answers a sampling/createMessage request: resolves with its result, or rejects with HubError. */
  answer(params: unknown, context: SamplingContext, signal: AbortSignal): Promise<JsonObject>;
}

/** Creates the handler of sampling/createMessage (revision 2025-11-25), which uses the models of the hub. */
export function createSampling(chats: Chats): ModelSampling {
  /** Returns the model for a request. An agent's first hint decides; a server's hints only select models of Ollama. */
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
        // A new object for each call: the breaker counts one failure per object.
        const caller = { ...context.caller };
        const answer = await chats.chat({ ...read, model, maxTokens, caller, progress }, signal);
        budget?.spent(answer.usage);
        return resultOf(answer, hasTools || caller.kind === 'agent');
      } catch (error) {
        throw hubErrorOf(error);
      }
    },
  };
}

/**
 * Returns the result of sampling/createMessage. A server that sent no tools gets a single block instead of a list,
 * because its revision may not allow lists.
 */
function resultOf(answer: ChatAnswer, isList: boolean): JsonObject {
  const { model, stopReason, usage } = answer;
  // Without tools, the answer has only a text.
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
