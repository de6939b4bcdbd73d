import type { ModelList, RunResult } from './results.ts';

/** Request of the tool `ollama_run` to a model. */
export type RunRequest = {
  readonly model: string;
  readonly prompt: string;
  readonly system?: string | undefined;
  readonly format?: unknown;
  readonly options?: unknown;
  readonly timeoutMs: number;
  /** Id of the tool call, from which a hub knows the client, for its queue of the model. */
  readonly call: string | number;
};

/** Access to the models of the hub or of the settings. Both methods reject with ModelError. */
export interface ModelSource {
  run(
    request: RunRequest,
    progress: ((text: string) => void) | undefined,
    signal: AbortSignal,
  ): Promise<RunResult>;
  list(signal: AbortSignal): Promise<ModelList>;
}

export type ErrorCode =
  /** Ollama or the endpoint does not answer. */
  | 'unavailable'
  /** Ollama, the endpoint or a queue is full. */
  | 'overloaded'
  | 'model_missing'
  | 'model_not_allowed'
  /** The answer was not complete in time, or the model sent no text for too long. */
  | 'timeout'
  /** The connection ended before the answer was complete, or the answer is too long. */
  | 'cut_off'
  | 'context_full'
  | 'unauthorized'
  | 'invalid_request'
  /** The model or its server refused the call, or its answer is invalid. */
  | 'failed'
  | 'cancelled';

/** Error of a call of a model. The message says what to do. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

const codes: Readonly<Record<string, ErrorCode>> = {
  unreachable: 'unavailable',
  breaker_open: 'unavailable',
  busy: 'overloaded',
  queue: 'overloaded',
  missing: 'model_missing',
  timeout: 'timeout',
  cut: 'cut_off',
  too_long: 'context_full',
  unauthorized: 'unauthorized',
  cancelled: 'cancelled',
  HUB_INPUTS_FULL: 'overloaded',
  HUB_REQUEST_INVALID: 'invalid_request',
  HUB_CALL_CANCELLED: 'cancelled',
  HUB_SHUTTING_DOWN: 'unavailable',
  HUB_MODEL_UNKNOWN: 'model_missing',
};

/** Codes of errors after which the same call may succeed. */
const passing: readonly ErrorCode[] = ['unavailable', 'overloaded', 'cut_off'];

export const isRetryable = ({ code }: ModelError): boolean => passing.includes(code);

/**
 * Creates the error for a failure in AgentHub's code for models. `kind`: kind of the failure; `code`: the hub's code.
 */
export function modelErrorOf(
  message: string,
  {
    code,
    kind,
    retryAfterMs,
  }: { readonly code?: unknown; readonly kind?: unknown; readonly retryAfterMs?: unknown },
): ModelError {
  const found = codes[String(kind)] ?? codes[String(code)] ?? 'failed';
  return new ModelError(
    found,
    message,
    typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  );
}
