import type { Event } from '#core';

/** What became of a prompt. */
export type ImprovedPrompt = {
  /** What was made of it, or the prompt as it came. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /** `model`, `l1`, `l2`, `fallback`, `unchanged` or `disabled`. */
  readonly source: string;
  readonly client: string;
  /** The client that the rule is for, or `default`. */
  readonly rule: string;
  readonly model?: string;
  readonly similarity?: number;
  readonly ageMs?: number;
  /** Why it is unchanged, or why no cache was used. */
  readonly reason?: string;
  readonly tookMs: number;
};

/** What is told while a prompt is worked on: what a model writes, or that it begins, or gave nothing. */
export type PromptStep = {
  readonly step: string;
  readonly model: string;
  readonly text?: string;
  readonly message?: string;
};

/** What improves prompts, as far as calls have to do with it. */
export interface PromptSource {
  /** Whether clients are offered it: there is an Ollama to ask, and a rule that has it asked. */
  readonly isOffered: boolean;
  /** Fires where that is not what it was. */
  readonly changed: Event<void>;
  /** Undefined where no rule names a tool or a prompt of a server, as mostly. */
  readonly named: NamedByRules | undefined;
  /**
   * The better prompt, or the prompt as it came with the reason, within the time of the rule. Rejects where the
   * signal is aborted, and for nothing else.
   */
  enhance(
    request: { readonly prompt: string; readonly client: string | undefined },
    signal: AbortSignal,
    tell?: (step: PromptStep) => void,
  ): Promise<ImprovedPrompt>;
}

/** What rules say of calls, by the names on the endpoint of all servers. */
export interface NamedByRules {
  /** The arguments of a tool that are prompts by the rule of the client. */
  argumentsOf(tool: string, client: string | undefined): readonly string[] | undefined;
  /** Whether what a prompt of a server says for the user is improved for the client. */
  improves(prompt: string, client: string | undefined): boolean;
}
