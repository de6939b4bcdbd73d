import type { JsonObject } from '#core';
import type { Chats, ListedModel } from '../chat/chats.ts';
import type { ModelCaller } from '../model-queue.ts';
import { hubErrorOf } from '../sampling/hub-error.ts';
import { readRun } from './read-run.ts';

/** The caller of a prompt. */
type RunContext = {
  readonly caller: ModelCaller;
  /** Called with each new piece of text, without thoughts. */
  readonly progress?: ((text: string) => void) | undefined;
};

/** Model requests of the server `ollama-mcp`. Methods reject with HubError; its data has the kind of the failure. */
export interface ModelRuns {
  /** Runs the prompt of an `agenthub/models/run` request, and resolves with the result. */
  run(params: unknown, context: RunContext, signal: AbortSignal): Promise<JsonObject>;
  /** Resolves with the result of `agenthub/models/list`. */
  list(signal: AbortSignal): Promise<JsonObject>;
}

export function createModelRuns(chats: Pick<Chats, 'chat' | 'list'>): ModelRuns {
  return {
    async run(params, context, signal) {
      const { prompt, ...read } = readRun(params);
      const request = {
        ...read,
        messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }] }],
        tools: [],
        toolChoice: 'none' as const,
        allowsEmpty: true,
        // A new object for each call: the breaker counts one failure per object.
        caller: { ...context.caller },
        progress: context.progress,
      };
      const answer = await reporting(chats.chat(request, signal));
      const { model, content, stopReason, usage, tookMs, loadMs, promptMs } = answer;
      return {
        text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
        model,
        tokens: { prompt: usage.inputTokens, completion: usage.outputTokens },
        durations: {
          totalMs: Math.round(tookMs),
          ...(loadMs !== undefined && { loadMs: Math.round(loadMs) }),
          ...(promptMs !== undefined && { promptMs: Math.round(promptMs) }),
        },
        doneReason: stopReason === 'maxTokens' ? 'length' : 'stop',
        thinkingOnly: answer.isThoughtOnly === true,
      };
    },
    async list(signal) {
      const { models, unavailable } = await reporting(chats.list(signal));
      return { models: models.map(jsonOf), unavailable };
    },
  };
}

const reporting = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw hubErrorOf(error);
  });

const jsonOf = ({
  name,
  source,
  sizeBytes,
  isLoaded,
  capabilities,
  contextTokens,
}: ListedModel): JsonObject => ({
  name,
  source,
  ...(sizeBytes !== undefined && { sizeBytes }),
  ...(isLoaded !== undefined && { loaded: isLoaded }),
  ...(capabilities && { capabilities }),
  ...(contextTokens !== undefined && { contextTokens }),
});
