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
  /** Pass a new object with each request: the breaker counts at most one failure for each object. */
  readonly caller: ModelCaller;
  /** Called with each new piece of text, without thoughts. */
  readonly progress?: ((text: string) => void) | undefined;
  /** Makes the model answer in JSON: `'json'` for any JSON, or a JSON schema. Cannot be combined with tools. */
  readonly format?: JsonObject | 'json' | undefined;
  /** Further options of the model by their names at Ollama, such as `top_p` and `seed`. */
  readonly tuning?: Readonly<Record<string, number>> | undefined;
  /** Timeout of the whole call in ms, if it is shorter than that of the config. */
  readonly timeoutMs?: number | undefined;
  /** An answer without text and calls is returned, with its usage, and is no failure. */
  readonly allowsEmpty?: boolean;
};

export type ChatUsage = { readonly inputTokens: number; readonly outputTokens: number };

export type ChatAnswer = {
  /** As the request names it, with the provider. */
  readonly model: string;
  /** Text first. Empty only if the request allows it. */
  readonly content: readonly (TextBlock | ToolUseBlock)[];
  readonly stopReason: 'endTurn' | 'toolUse' | 'maxTokens';
  /** Estimated from the length of the texts where the model's server does not report it. */
  readonly usage: ChatUsage;
  readonly tookMs: number;
  /** The model thought, and gave no answer. */
  readonly isThoughtOnly?: true;
  /** Parts of `tookMs`, where the model's server reports them: loading the model, and reading the prompt. */
  readonly loadMs?: number;
  readonly promptMs?: number;
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

/** A number of tokens as a server of models reports it. Undefined for what is none: budgets are charged by it. */
export const tokenCountOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
