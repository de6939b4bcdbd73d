import type { JsonObject } from '#core';

/** Calls models through the MCP server that `tasks.server` of the config names. */
export interface ModelCalls {
  /**
   * Resolves if models can be called. Rejects with HUB_OLLAMA_UNAVAILABLE, whose message gives the remedy, with
   * HUB_MODEL_UNKNOWN if one of `models` is missing, or like `run`. `job`: id of the task that makes the request.
   */
  check(
    signal: AbortSignal,
    about?: { readonly job?: string; readonly models?: readonly string[] },
  ): Promise<void>;
  /**
   * Runs a prompt. Rejects with HubError, which tells faults of the infrastructure from those of the model:
   * - HUB_OLLAMA_UNAVAILABLE: nothing answers, or it is overloaded. The same call may succeed later.
   * - HUB_MODEL_UNKNOWN: the model is missing, or not in `tasks.models`.
   * - HUB_MODEL_CALL_TIMEOUT: the model was not done in time, or silent for too long.
   * - HUB_MODEL_CALL_CRASHED: the server ended during the call.
   * - HUB_MODEL_CALL_PROTOCOL: the server is missing or disabled, or its answer is no result of the tool.
   * - HUB_CONTEXT_FULL: the prompt does not fit into the context of the model.
   * - HUB_MODEL_FAILED: the model or its server refused the call.
   * - HUB_CALL_CANCELLED: the signal aborted.
   */
  run(request: ModelRun, signal: AbortSignal): Promise<ModelRunResult>;
}

export type ModelRun = {
  /** Id of the task. The call is made as the principal `job:<id>`. */
  readonly job: string;
  readonly model: string;
  readonly prompt: string;
  readonly system?: string | undefined;
  /** JSON schema of the answer. Undefined: the answer is text. */
  readonly format?: JsonObject | undefined;
  /** Options of the model, such as `temperature`. */
  readonly options?: Readonly<Record<string, number | string | boolean>> | undefined;
  /** Timeout in ms, at most `tasks.timeout_seconds`, which is the default. */
  readonly timeoutMs?: number | undefined;
  /** Called with each new piece of the answer, without the model's thinking. */
  readonly onProgress?: ((text: string) => void) | undefined;
};

export type ModelRunResult = {
  /** The answer without the model's thinking. Empty if there is nothing else. */
  readonly text: string;
  readonly model: string;
  readonly tokens: { readonly prompt: number; readonly completion: number };
  readonly durationMs: number;
  /** `length`: the answer reached the limit of tokens and is incomplete. */
  readonly doneReason: 'stop' | 'length';
  /** True if the model's thinking was its only output. */
  readonly thinkingOnly: boolean;
};
