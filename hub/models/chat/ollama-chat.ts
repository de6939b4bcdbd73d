import { ModelFailure } from '../failure.ts';
import type { ModelInfo, ModelNeeds } from '../model-list.ts';
import { type StreamedAnswer, streamAnswer } from '../streamed-answer.ts';
import { atTurn } from '../turn.ts';
import {
  type ChatAnswer,
  type ChatLimits,
  type ChatRequest,
  estimateTokens,
} from './chat-types.ts';
import { chatAnswerOf } from './chat-answer.ts';
import { ollamaMessages, parseCall, parseCallText } from './ollama-messages.ts';

export type OllamaChatRequest = ChatRequest &
  ChatLimits & {
    /** Context size in tokens (`num_ctx`). Ollama reloads the model if it differs from that of the previous call. */
    readonly contextTokens: number;
    /** Makes an id for a tool call that the model sent without one. */
    readonly newId: () => string;
  };

/** Chats with a model of Ollama, when it is the call's turn in the queue. Rejects with ModelFailure. */
export async function chatOnOllama(
  request: OllamaChatRequest,
  signal: AbortSignal,
  needs: ModelNeeds,
): Promise<ChatAnswer> {
  const startedMs = needs.clock.monotonic();
  const { silentMs, silentSetting: setting, caller } = request;
  const messages = ollamaMessages(request);
  const length = JSON.stringify(messages).length;
  const isForced = messages.format !== undefined;
  const { model, answer } = await atTurn(request, signal, needs, async (turn, limit) => {
    requireTools(turn, messages.tools !== undefined);
    const form = request.format !== undefined && { format: request.format };
    const body = { ...form, ...messages, options: optionsOf(request), think: false };
    // A model that must call a tool may write the call as text, which is not shown to people.
    const progress = isForced ? undefined : request.progress;
    const call = { turn, body, length, silentMs, setting, caller, progress };
    return { model: turn.name, answer: await streamAnswer(call, limit, needs) };
  });
  const { promptTokens, outputTokens } = answer;
  const output = { ...answer, ...callsIn(answer, isForced) };
  const made = chatAnswerOf(output, request, model, request.newId);
  const usage = {
    inputTokens: promptTokens ?? estimateTokens(length),
    outputTokens: outputTokens ?? estimateTokens(answer.length),
  };
  needs.counts.succeeded(model, usage.inputTokens, usage.outputTokens, caller);
  return {
    model,
    ...made,
    usage,
    tookMs: needs.clock.monotonic() - startedMs,
    ...(answer.loadMs > 0 && { loadMs: answer.loadMs }),
    ...(answer.promptMs > 0 && { promptMs: answer.promptMs }),
  };
}

function optionsOf({
  contextTokens,
  maxTokens,
  temperature,
  stopSequences,
  tuning,
}: OllamaChatRequest) {
  return {
    ...tuning,
    num_ctx: contextTokens,
    ...(maxTokens !== undefined && { num_predict: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences.length > 0 && { stop: stopSequences }),
  };
}

function requireTools({ name: model, capabilities }: ModelInfo, hasTools: boolean): void {
  if (!hasTools || capabilities === undefined || capabilities.includes('tools')) return;
  const message = `${model} cannot call tools. Choose a model whose "ollama show" lists the capability tools`;
  throw new ModelFailure('refused', message, { model });
}

/** Returns the tool calls of an answer, and its text without them. */
function callsIn({ text, toolCalls }: StreamedAnswer, isForced: boolean) {
  const written = isForced && toolCalls.length === 0 ? parseCallText(text) : undefined;
  return written ? { text: '', calls: [written] } : { text, calls: toolCalls.map(parseCall) };
}
