import { durationText, isObject, tryParseJson } from '#core';
import { type FailureKind, ModelFailure } from '../failure.ts';
import { choiceIn } from './completion-stream.ts';

/** A call to a provider: the data for its failures. */
export type ProviderCall = {
  /** Name of the provider in the config. */
  readonly provider: string;
  /** Name of the model with the provider, such as `work/gpt-x`. */
  readonly model: string;
  /** API key. Removed from error texts. */
  readonly key: string | undefined;
};

const maxShown = 300;

/** Throws ModelFailure if the API key of a provider cannot be read or sent. */
export function requireKey(
  { provider, model, key }: ProviderCall,
  keyFault: string | undefined,
): void {
  const fault = keyFault ?? (key === undefined ? undefined : whyNoHeader(key));
  if (fault !== undefined)
    throw new ModelFailure('unauthorized', `models.providers.${provider}.key: ${fault}`, { model });
}

/** Returns the reason why a key is not valid in a header; undefined if it is valid. */
function whyNoHeader(key: string): string | undefined {
  try {
    new Headers({ authorization: `Bearer ${key}` });
    return undefined;
  } catch {
    // The message of the error contains the key, so it is not passed on.
    return 'it has a line break, or another character that cannot be sent. Correct it';
  }
}

/** Returns the failure for a response with an error status. `nowMs`: current time in milliseconds since the epoch. */
export function failureOfStatus(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: string,
  nowMs: number,
  call: ProviderCall,
): ModelFailure {
  const error = errorIn(body);
  const kind = kindOf(status, error);
  const retryAfterMs = kind === 'busy' ? retryAfterIn(headers, nowMs) : 0;
  return failureOf(`answered ${status}`, error, kind, call, retryAfterMs);
}

/**
 * Parses `Retry-After`, which is seconds or a date (RFC 9110, 10.2.3), and returns the time to wait in ms. Zero or
 * negative if the header is absent, invalid or in the past.
 */
function retryAfterIn(headers: Headers, nowMs: number): number {
  const written = headers.get('retry-after') ?? '';
  const seconds = Number(written);
  const ms = Number.isNaN(seconds) ? Date.parse(written) - nowMs : seconds * 1000;
  return Number.isFinite(ms) ? ms : 0;
}

/**
 * Returns the failure for an error in a response with status 200; undefined if there is none. OpenRouter reports an
 * error after the first chunk beside the text, with `finish_reason: "error"`.
 */
export function failureInChunk(
  chunk: { readonly [key: string]: unknown },
  call: ProviderCall,
): ModelFailure | undefined {
  const choice = choiceIn(chunk);
  const unknown = choice?.['finish_reason'] === 'error' ? { code: 500 } : undefined;
  const given = chunk['error'] || choice?.['error'] || unknown;
  if (!given) return undefined;
  const error = errorIn(JSON.stringify({ error: given }));
  const status = Number(error.code);
  const [, named] = namedErrors.find(([words]) => words.test(wordsAbout(error))) ?? [];
  // Other codes are the provider's own, such as 1113.
  const isStatus = status >= 400 && status < 600;
  const kind = isStatus ? kindOf(status, error) : (named ?? kindOf(0, error));
  return failureOf('stopped with an error', error, kind, call);
}

/** Kinds of failure by the code or type of an error that has no status. */
const namedErrors: readonly (readonly [RegExp, FailureKind])[] = [
  [/rate_limit|overloaded/, 'busy'],
  [/invalid_api_key|authentication/, 'unauthorized'],
  [/model_not_found|not_found_error/, 'missing'],
];

function failureOf(
  what: string,
  { text }: ProviderError,
  kind: FailureKind,
  call: ProviderCall,
  retryAfterMs = 0,
): ModelFailure {
  const said = text === '' ? '' : `: ${shown(text, call)}`;
  const message = `${call.provider} ${what}${said}. ${remedyOf(kind, call, retryAfterMs)}`;
  return new ModelFailure(kind, message, {
    model: call.model,
    ...(retryAfterMs > 0 && { retryAfterMs }),
  });
}

type ProviderError = { readonly text: string; readonly code: unknown; readonly type: unknown };

/** Parses an error body: `{"error": {"message", "type", "code"}}`, or a variant of it. */
function errorIn(body: string): ProviderError {
  const parsed = tryParseJson(body);
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const error = isObject(first) ? (first['error'] ?? first) : undefined;
  if (!isObject(error)) {
    const text = typeof error === 'string' ? error : /^\s*</.test(body) ? 'an HTML page' : body;
    return { text: text.trim(), code: undefined, type: undefined };
  }
  const { message, detail, code, type } = error;
  const words = [message, detail].find(one => typeof one === 'string') ?? '';
  return { text: String(words), code, type };
}

const wordsAbout = ({ code, type }: ProviderError) => `${String(code)} ${String(type)}`;

function kindOf(status: number, error: ProviderError): FailureKind {
  const about = wordsAbout(error);
  const isLong =
    /context_length_exceeded|exceed_context_size/.test(about) ||
    /(?:context (?:length|size|window)|prompt is too long|too many tokens|maximum context)/i.test(
      error.text,
    );
  if (isLong && (status === 0 || status === 400 || status === 413 || status === 422))
    return 'too_long';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'missing';
  if (/insufficient_quota|billing/.test(about) || status === 402) return 'refused';
  // Anthropic's endpoint answers 529 if it is overloaded.
  if (status === 429 || status === 503 || status === 529) return 'busy';
  return status >= 500 || status === 408 ? 'unreachable' : 'refused';
}

function remedyOf(
  kind: FailureKind,
  { provider, key }: ProviderCall,
  retryAfterMs: number,
): string {
  const entry = `models.providers.${provider}`;
  if (kind === 'unauthorized')
    return key === undefined
      ? `Set ${entry}.key in the config`
      : `Check ${entry}.key in the config, and what the key may use`;
  if (kind === 'missing')
    return `Check the name of the model, and that ${entry}.url is the base of the API, such as https://api.example.com/v1`;
  if (kind === 'busy')
    return `It is overloaded, or its rate limit is reached. Try again ${retryAfterMs > 0 ? `in ${durationText(retryAfterMs)}` : 'later'}`;
  if (kind === 'too_long')
    return 'Shorten the conversation, or choose a model with a larger context';
  if (kind === 'unreachable') return `Try again later, and check ${entry}.url`;
  return `Check the request and the account at ${provider}`;
}

/** Shortens an error text for messages, and removes the key, which endpoints may quote. */
function shown(text: string, { key }: ProviderCall): string {
  const whole = key === undefined || key === '' ? text : text.replaceAll(key, '***');
  const line = whole.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return line.length > maxShown ? `${line.slice(0, maxShown)}...` : line;
}
