import type { Event } from '#core';

/** The result of improving a prompt. */
export type ImprovedPrompt = {
  /** The improved prompt, or the original. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /** `model`, `l1`, `l2`, `fallback`, `unchanged` or `disabled`. */
  readonly source: string;
  readonly client: string;
  /** The client that the rule applies to, or `default`. */
  readonly rule: string;
  readonly model?: string;
  readonly similarity?: number;
  readonly ageMs?: number;
  /** The reason if the prompt is unchanged, or if no cache was used. */
  readonly reason?: string;
  readonly tookMs: number;
};

/** Progress of an improvement: a model starts, writes text, or returned nothing. */
export type PromptStep = {
  readonly step: string;
  readonly model: string;
  readonly text?: string;
  readonly message?: string;
};

/** The prompt improver, as used by calls. */
export interface PromptSource {
  /** True if clients are offered prompt improvement: an Ollama server is configured, and a rule uses it. */
  readonly isOffered: boolean;
  /** Fires when `isOffered` changes. */
  readonly changed: Event<void>;
  /** Undefined if no rule names a tool or a server's prompt, which is the usual case. */
  readonly named: NamedByRules | undefined;
  /**
   * Returns the improved prompt, or the original with the reason, within the time of the rule. Rejects only if the
   * signal is aborted.
   */
  enhance(
    request: { readonly prompt: string; readonly client: string | undefined },
    signal: AbortSignal,
    tell?: (step: PromptStep) => void,
  ): Promise<ImprovedPrompt>;
}

/** The rules for calls, by the names on the endpoint of all servers. */
export interface NamedByRules {
  /** The arguments of a tool that are prompts, by the rule of the client. */
  argumentsOf(tool: string, client: string | undefined): readonly string[] | undefined;
  /** True if the user messages of a server's prompt are improved for the client. */
  improves(prompt: string, client: string | undefined): boolean;
}
