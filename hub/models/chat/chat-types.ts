import type { JsonObject } from '#core';
import type { ModelCaller } from '../model-queue.ts';

export type TextBlock = { readonly type: 'text'; readonly text: string };

/** A call of a tool by the model. */
export type ToolUseBlock = {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
};

/** The outcome of a tool call, in the user message after the one with the call. */
export type ToolResultBlock = {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly text: string;
  readonly isError: boolean;
};

export type ChatMessage =
  | { readonly role: 'user'; readonly content: readonly (TextBlock | ToolResultBlock)[] }
  | { readonly role: 'assistant'; readonly content: readonly (TextBlock | ToolUseBlock)[] };

export type ChatTool = {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON schema of an object. */
  readonly inputSchema: JsonObject;
};

export type ChatRequest = {
  /** A model of Ollama, or `provider/model`. */
  readonly model: string;
  readonly system: string | undefined;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  /** `required`: the model must call a tool. `none`: it must not. */
  readonly toolChoice: 'auto' | 'required' | 'none';
  /** Maximum length of the answer in tokens. Undefined: the model's own. */
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly stopSequences: readonly string[];
  /** The breaker counts one failure per caller object: pass a new one with each request. */
  readonly caller: ModelCaller;
  /** Called with each new piece of text, without thoughts. */
  readonly progress?: ((text: string) => void) | undefined;
};

export type ChatUsage = { readonly inputTokens: number; readonly outputTokens: number };

export type ChatAnswer = {
  /** As the request names it, with the provider. */
  readonly model: string;
  /** Text first. Never empty. */
  readonly content: readonly (TextBlock | ToolUseBlock)[];
  readonly stopReason: 'endTurn' | 'toolUse' | 'maxTokens';
  /** Estimated from the length of the texts where the model's server does not report it. */
  readonly usage: ChatUsage;
  readonly tookMs: number;
};

/** Timeouts of a chat in ms. */
export type ChatLimits = {
  /** Idle timeout between tokens, and before the first one. */
  readonly silentMs: number;
  /** Timeout of the whole call, including the time in the queue. */
  readonly totalMs: number;
};

const charactersPerToken = 4;

/** The number of tokens in some texts, roughly. */
export const estimateTokens = (characters: number): number =>
  Math.ceil(characters / charactersPerToken);
