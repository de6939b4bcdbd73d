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

/** Result of a tool call, in the user message after the message with the call. */
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
  /** JSON schema of the arguments, which are an object. */
  readonly inputSchema: JsonObject;
};

export type ChatRequest = {
  /** Name of a model of Ollama, or `provider/model`. */
  readonly model: string;
  readonly system: string | undefined;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  /** `required`: the model must call a tool. `none`: the model must not call one. */
  readonly toolChoice: 'auto' | 'required' | 'none';
  /** Maximum length of the answer in tokens. Undefined: the default of the model. */
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly stopSequences: readonly string[];
  /** Pass a new object with each request: the breaker counts at most one failure for each object. */
  readonly caller: ModelCaller;
  /** Called with each new piece of text, without thoughts. */
  readonly progress?: ((text: string) => void) | undefined;
  /** Makes the model answer in JSON: `'json'` for any JSON, or a JSON schema. Cannot be combined with tools. */
  readonly format?: JsonObject | 'json' | undefined;
  /** Further options of the model, named as in Ollama, such as `top_p` and `seed`. */
  readonly tuning?: Readonly<Record<string, number>> | undefined;
  /** Timeout of the whole call in ms, if shorter than that of the config. */
  readonly timeoutMs?: number | undefined;
  /** If true, an answer without text and calls is returned with its usage. If false, it is a failure. */
  readonly allowsEmpty?: boolean;
};

export type ChatUsage = { readonly inputTokens: number; readonly outputTokens: number };

export type ChatAnswer = {
  /** Name of the model as in the request, including the provider. */
  readonly model: string;
  /** Blocks of the answer, the text first. Empty only if the request allows it. */
  readonly content: readonly (TextBlock | ToolUseBlock)[];
  readonly stopReason: 'endTurn' | 'toolUse' | 'maxTokens';
  /** Tokens used. Estimated from the length of the texts if the server of the model does not report them. */
  readonly usage: ChatUsage;
  readonly tookMs: number;
  /** True if the model answered with thoughts only. */
  readonly isThoughtOnly?: true;
  /** Parts of `tookMs` if reported: the times to load the model and to read the prompt, in ms. */
  readonly loadMs?: number;
  readonly promptMs?: number;
};

/** Timeouts of a chat in ms. */
export type ChatLimits = {
  /** Maximum time without a token, also before the first one. */
  readonly silentMs: number;
  /** Name of the setting that `silentMs` comes from, for error messages. */
  readonly silentSetting?: string;
  /** Timeout of the whole call, including the time in the queue. */
  readonly totalMs: number;
  /** Name of the setting that `totalMs` comes from, for error messages. */
  readonly totalSetting?: string;
};

const charactersPerToken = 4;

/** Estimates the number of tokens of a text from its length. */
export const estimateTokens = (characters: number): number =>
  Math.ceil(characters / charactersPerToken);

/** Returns a token count that a model's server reported; undefined if it is invalid, as budgets are charged by it. */
export const tokenCountOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
