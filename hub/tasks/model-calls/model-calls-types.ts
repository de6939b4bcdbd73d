import type { JsonObject } from '#core';

/** Calls models through the MCP server that `tasks.server` of the config names. */
export interface ModelCalls {
  /**
   * Resolves if models can be called now. Rejects with HUB_OLLAMA_UNAVAILABLE, which says what to do, with
   * HUB_MODEL_UNKNOWN if one of `models` is missing, or as `run` does. `job` makes the request, if it is given.
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
  /** Id of the task: the call is made as the principal `job:<id>`. */
  readonly job: string;
  readonly model: string;
  readonly prompt: string;
  readonly system?: string | undefined;
  /** JSON schema of the answer. */
  readonly format?: JsonObject | undefined;
  /** Options of the model, such as `temperature`. */
  readonly options?: Readonly<Record<string, number | string | boolean>> | undefined;
  /** Not more than `tasks.timeout_seconds`, which is the default. */
  readonly timeoutMs?: number | undefined;
  /** Called with each new piece of text, without thoughts. */
  readonly onProgress?: ((text: string) => void) | undefined;
};

export type ModelRunResult = {
  /** Without thoughts. Empty if the model said nothing else. */
  readonly text: string;
  readonly model: string;
  readonly tokens: { readonly prompt: number; readonly completion: number };
  readonly durationMs: number;
  /** `length`: the answer is cut off at the limit of its tokens. */
  readonly doneReason: 'stop' | 'length';
  /** The model thought, and said nothing. */
  readonly thinkingOnly: boolean;
};
