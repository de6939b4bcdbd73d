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
import { cutOffEarly } from './cut-off.ts';
import { type ParsedCall, ollamaMessages, parseCallText, parseCalls } from './ollama-messages.ts';

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
  const { silentMs, caller, toolChoice } = request;
  const messages = ollamaMessages(request);
  const length = JSON.stringify(messages).length;
  const isForced = messages.format !== undefined;
  const { model, answer } = await atTurn(request, signal, needs, async (turn, limit) => {
    requireTools(turn, messages.tools !== undefined);
    const form = request.format !== undefined && { format: request.format };
    const body = { ...form, ...messages, options: optionsOf(request), think: false };
    // A model that must call a tool may write the call as text, which is not shown to people.
    const progress = isForced ? undefined : request.progress;
    const call = { turn, body, length, silentMs, caller, progress };
    return { model: turn.name, answer: await streamAnswer(call, limit, needs) };
  });
  const { promptTokens, outputTokens } = answer;
  const found = callsIn(answer, isForced, model);
  const content = contentOf(answer, found, request.newId);
  if (content.length === 0 && request.allowsEmpty !== true)
    throw whyEmpty(answer, model, request.maxTokens);
  if (toolChoice === 'required' && found.calls.length === 0 && !answer.isCut)
    throw new ModelFailure('refused', `${model} called no tool, although it had to`, { model });
  const usage = {
    inputTokens: promptTokens ?? estimateTokens(length),
    outputTokens: outputTokens ?? estimateTokens(answer.length),
  };
  needs.counts.succeeded(model, usage.inputTokens, usage.outputTokens, caller);
  const stopReason = answer.isCut ? 'maxTokens' : found.calls.length > 0 ? 'toolUse' : 'endTurn';
  const tookMs = needs.clock.monotonic() - startedMs;
  return {
    model,
    content,
    stopReason,
    usage,
    tookMs,
    ...(content.length === 0 && answer.isThoughtOnly && { isThoughtOnly: true as const }),
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

type Found = { readonly text: string; readonly calls: readonly ParsedCall[] };

/** Returns the tool calls of an answer, and its text without them. */
function callsIn({ text, toolCalls }: StreamedAnswer, isForced: boolean, model: string): Found {
  const written = isForced && toolCalls.length === 0 ? parseCallText(text) : undefined;
  if (written) return { text: '', calls: written };
  const calls = parseCalls(toolCalls);
  if (calls) return { text, calls };
  throw new ModelFailure('malformed', `${model} called a tool without naming it`, { model });
}

/** Returns the blocks of an answer. Calls are left out if the token limit was reached: arguments may be missing. */
function contentOf({ isCut }: StreamedAnswer, { text, calls }: Found, newId: () => string) {
  const ids = new Set<string>();
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(isCut ? [] : calls).map(({ id: given, name, input }) => {
      const id = given !== undefined && given !== '' && !ids.has(given) ? given : newId();
      ids.add(id);
      return { type: 'tool_use' as const, id, name, input };
    }),
  ];
}

function whyEmpty(
  { isThoughtOnly, isCut }: StreamedAnswer,
  model: string,
  maxTokens: number | undefined,
): ModelFailure {
  if (isCut) return cutOffEarly(model, maxTokens);
  return isThoughtOnly
    ? new ModelFailure('thinking_only', `${model} answered with thoughts only`, { model })
    : new ModelFailure('empty', `${model} gave an empty answer`, { model });
}
