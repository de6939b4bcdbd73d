/** Why a model gave nothing that can be used. */
export type FailureKind =
  /** No connection, or none that held until an answer began; or a proxy that says as much. */
  | 'unreachable'
  /** It answered with an error of its own: a model that cannot chat, a runner that died. */
  | 'refused'
  /** It was silent for too long, or not done in time. */
  | 'timeout'
  /** It has no such model. */
  | 'missing'
  /** Its queue is full. */
  | 'busy'
  /** It answered with nothing. */
  | 'empty'
  /** The answer ended before it was whole: at the limit of its tokens, or with the connection. */
  | 'cut'
  /** It thought, and answered nothing. */
  | 'thinking_only'
  /** The answer is none of Ollama's. */
  | 'malformed'
  /** It failed often of late and is left alone for a while. */
  | 'breaker_open'
  /** The text does not fit into the model's context. */
  | 'too_long'
  /** The caller gave it up, or the hub stops. */
  | 'cancelled';

/** A call to a model that came to nothing. The message holds no prompt and no answer. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: FailureKind;
  /** Undefined where it concerns Ollama and no model of it. */
  readonly model: string | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    options: { readonly model?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.model = options.model;
  }
}

/** The failure that a signal was aborted with; a signal of somebody else's means that it was given up. */
export function failureOfAbort(signal: AbortSignal, model: string | undefined): ModelFailure {
  const reason: unknown = signal.reason;
  if (reason instanceof ModelFailure) return reason;
  return new ModelFailure('cancelled', 'it was given up', { model, cause: reason });
}

/** The failure that an error of Ollama's stands for; without a status it came in the middle of an answer. */
export function failureOfError(
  error: string,
  status: number | undefined,
  model: string | undefined,
): ModelFailure {
  const kind = kindOf(error, status);
  const said = status === undefined ? 'Ollama broke off' : `Ollama answered ${status}`;
  return new ModelFailure(kind, `${said}: ${shown(error)}${remedies[kind] ?? ''}`, { model });
}

function kindOf(error: string, status: number | undefined): FailureKind {
  // Since 0.34 it passes on what llama-server says, as JSON in a string.
  if (/exceeds .*context/i.test(error)) return 'too_long';
  if (status === 503 || status === 429) return 'busy';
  if (status === 502 || status === 504) return 'unreachable';
  // What a pull says of a model that its registry does not have.
  if (status === 404 || /file does not exist/i.test(error)) return 'missing';
  return 'refused';
}

const remedies: { readonly [kind in FailureKind]?: string } = {
  busy: '. Lower the load, or raise OLLAMA_MAX_QUEUE',
  missing: '. Check its name, or pull it',
  too_long: '. Shorten it, or raise num_ctx',
};

/** Errors may quote what they failed on, and proxies answer with pages. */
function shown(error: string): string {
  if (/^\s*</.test(error)) return 'a page of HTML. Check OLLAMA_HOST and any proxy before it';
  return error.length > maxShown ? `${error.slice(0, maxShown)}...` : error;
}

const maxShown = 200;
