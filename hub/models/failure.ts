import { isObject, tryParseJson } from '#core';

/** Why a call to a model gave no usable result. */
export type FailureKind =
  /** The connection failed, or broke before the answer began, or a proxy reported that it failed. */
  | 'unreachable'
  /** Ollama answered with an error: for example, the model cannot chat, or its runner crashed. */
  | 'refused'
  /** Ollama sent nothing for too long, or did not finish in time. */
  | 'timeout'
  | 'missing'
  /** A provider refused the key, or the key cannot be read. */
  | 'unauthorized'
  /** Ollama's own queue is full. */
  | 'busy'
  /** The call got no turn in the hub's queue: the queue was full, or the call timed out. Ollama did not fail. */
  | 'queue'
  | 'empty'
  /** The answer is incomplete: the token limit was reached, or the connection broke. */
  | 'cut'
  | 'thinking_only'
  /** The answer does not have Ollama's format. */
  | 'malformed'
  | 'breaker_open'
  | 'too_long'
  /** The caller cancelled the call, or the hub stops. */
  | 'cancelled';

/** A failed call to a model. Its message contains no prompt and no answer. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: FailureKind;
  /** Name of the model; undefined if the failure does not concern a single model. */
  readonly model: string | undefined;
  /** Time in ms after which the same call may succeed, if known. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      readonly model?: string | undefined;
      readonly cause?: unknown;
      readonly retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.model = options.model;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Returns the failure of an aborted signal: its reason if that is a ModelFailure, else one of kind `cancelled`. */
export function failureOfAbort(signal: AbortSignal, model: string | undefined): ModelFailure {
  const reason: unknown = signal.reason;
  if (reason instanceof ModelFailure) return reason;
  return new ModelFailure('cancelled', 'the call was cancelled', { model, cause: reason });
}

/** Converts an error message of Ollama to a failure. `status` is undefined for an error in the middle of a stream. */
export function failureOfError(
  error: string,
  status: number | undefined,
  model: string | undefined,
): ModelFailure {
  const text = messageIn(error);
  const kind = kindOf(text, status);
  const prefix =
    status === undefined ? 'Ollama stopped with an error' : `Ollama answered ${status}`;
  return new ModelFailure(kind, `${prefix}: ${shorten(text)}${remedies[kind] ?? ''}`, { model });
}

/** Returns the message of an error. Since 0.30 Ollama passes on errors of llama-server, as JSON in a string. */
function messageIn(error: string): string {
  const parsed = tryParseJson(error);
  const inner = isObject(parsed) ? parsed['error'] : undefined;
  return isObject(inner) && typeof inner['message'] === 'string' ? inner['message'] : error;
}

function kindOf(error: string, status: number | undefined): FailureKind {
  if (/exceeds .*context/i.test(error)) return 'too_long';
  if (status === 503 || status === 429) return 'busy';
  if (status === 502 || status === 504) return 'unreachable';
  // Error of a pull if the registry does not have the model.
  if (status === 404 || /file does not exist/i.test(error)) return 'missing';
  return 'refused';
}

const remedies: { readonly [kind in FailureKind]?: string } = {
  busy: '. Lower the load, or raise OLLAMA_MAX_QUEUE',
  missing: '. Check its name',
  too_long:
    '. Shorten it, or raise "num_ctx" of the prompt rule or "models.context", up to what the model was trained with',
};

/** Shortens an error text: errors may quote their input, and proxies answer with HTML pages. */
function shorten(error: string): string {
  if (/^\s*</.test(error)) return 'an HTML page. Check OLLAMA_HOST and any proxy in front of it';
  return error.length > maxErrorLength ? `${error.slice(0, maxErrorLength)}...` : error;
}

const maxErrorLength = 200;
