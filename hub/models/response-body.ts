import { isObject, shortened, tryParseJson } from '#core';
import { ModelFailure, failureOfAbort, failureOfError } from './failure.ts';

export type CallContext = { readonly model: string | undefined; readonly signal: AbortSignal };
/** A call, and the name of the provider that answers it; undefined for Ollama. */
type PeerContext = CallContext & { readonly provider?: string };

/** Maximum size in bytes of a response with one JSON value. Lists and vectors are far smaller. */
const maxJsonBytes = 8 * 1024 * 1024;
/** Maximum length of a line in characters. A line of a stream has a few tokens. */
const maxLineLength = 1024 * 1024;
/** Maximum size in bytes of an error response, which may be a proxy's HTML page. */
const maxErrorBytes = 16 * 1024;

/** Returns the `Content-Type` of a response in lower case, because media types ignore case (RFC 9110, 8.3.1). */
export const mediaTypeOf = ({ headers }: Response): string =>
  headers.get('content-type')?.toLowerCase() ?? '';

/** Converts a response with an error status to a ModelFailure, which is returned and not thrown. */
export async function failureOfResponse(
  response: Response,
  context: CallContext,
): Promise<ModelFailure> {
  const target = response.status < 400 ? response.headers.get('location') : null;
  if (target !== null) return malformed(`is a redirect to ${shortened(target)}`, context);
  const text = await errorTextOf(response, context).catch(() => ''); // The status is enough for a failure.
  if (context.signal.aborted) return failureOfAbort(context.signal, context.model);
  const parsed = tryParseJson(text);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  const words = typeof error === 'string' ? error : text.trim() || response.statusText;
  return failureOfError(words, response.status, context.model);
}

/**
 * Checks that a response is one JSON value, and returns an equal response. The `ollama` package prints a warning for
 * anything else. Rejects with ModelFailure.
 */
export async function checkJson(response: Response, context: CallContext): Promise<Response> {
  const text = await textOf(response, maxJsonBytes, context);
  if (text === '') throw malformed('is empty', context);
  if (Buffer.byteLength(text) > maxJsonBytes)
    throw malformed(`is longer than ${maxJsonBytes} bytes`, context);
  if (tryParseJson(text) === undefined) throw malformed('is not JSON', context);
  return new Response(text);
}

/**
 * Returns a response whose stream of JSON lines is checked while it is read. Reading fails with ModelFailure at a line
 * that is not a JSON object, at a line with an error, and at the end of the stream: the reader of a complete answer
 * stops at its last line.
 */
export function checkJsonLines(response: Response, context: CallContext): Response {
  if (!response.body) throw malformed('is empty', context);
  if (mediaTypeOf(response).includes('html'))
    throw malformed('is an HTML page, not a stream of JSON', context);
  return new Response(ReadableStream.from(linesOf(response, context)));
}

async function* linesOf(response: Response, context: CallContext): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let hasLines = false;

  function* checked(lines: readonly string[], isEnd: boolean): Generator<Uint8Array> {
    for (const line of lines.filter(given => given.trim() !== '')) {
      const parsed = tryParseJson(line);
      if (!isObject(parsed)) {
        if (isEnd && (hasLines || line.trimStart().startsWith('{'))) throw cutOff(context);
        throw malformed('contains a line that is not a JSON object', context);
      }
      if (Object.hasOwn(parsed, 'error'))
        throw failureOfError(ollamaErrorText(parsed['error']), undefined, context.model);
      hasLines = true;
      yield encoder.encode(`${line}\n`);
    }
  }

  // Chunks are joined only at a line break, so that a long line is not scanned again for each chunk.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunksOf(response, context)) {
    const text = decoder.decode(chunk, { stream: true });
    pieces.push(text);
    length += text.length;
    if (length > maxLineLength) throw malformed('contains a line that is too long', context);
    if (!text.includes('\n')) continue;
    const lines = pieces.join('').split('\n');
    pieces = lines.splice(-1);
    length = pieces[0]?.length ?? 0;
    yield* checked(lines, false);
  }
  // A response of one value may lack the final newline.
  yield* checked([...pieces, decoder.decode()].join('').split('\n'), true);
  throw hasLines ? cutOff(context) : malformed('is empty', context);
}

/** Returns the text of an error: Ollama's are strings, those of proxies and compatible servers may be objects. */
function ollamaErrorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return isObject(error) && typeof error['message'] === 'string'
    ? error['message']
    : JSON.stringify(error);
}

const cutOff = ({ model }: CallContext) =>
  new ModelFailure('cut', 'the answer ended before it was complete', { model });

/** Yields the chunks of a body. Converts a lost connection to a ModelFailure. */
export async function* chunksOf(
  { body }: Response,
  { model, provider, signal }: PeerContext,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (cause) {
    if (signal.aborted) throw failureOfAbort(signal, model);
    const peer = provider === undefined ? '' : ` to ${provider}`;
    const message = `the connection${peer} was lost in the middle of the answer`;
    throw new ModelFailure('cut', message, { model, cause });
  }
}

/** Returns the text of a response up to the chunk that exceeds a size. Rejects with ModelFailure. */
export async function textOf(
  response: Response,
  maxBytes: number,
  context: PeerContext,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response, context)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(chunks).toString();
}

/** Returns the beginning of an error response. Rejects with ModelFailure. */
export const errorTextOf = (response: Response, context: PeerContext): Promise<string> =>
  textOf(response, maxErrorBytes, context);

function malformed(what: string, { model }: CallContext): ModelFailure {
  return new ModelFailure(
    'malformed',
    `the answer ${what}. Check that OLLAMA_HOST is an Ollama, and any proxy in front of it`,
    { model },
  );
}
