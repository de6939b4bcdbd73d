import { isObject, tryParseJson } from '#core';
import { ModelFailure, failureOfAbort, failureOfError } from './failure.ts';

type CallContext = { readonly model: string | undefined; readonly signal: AbortSignal };

/** Maximum size in bytes of an answer with one JSON value. Lists and vectors are far smaller. */
const maxJsonBytes = 8 * 1024 * 1024;
/** Maximum line length in characters. A line of a stream holds a few tokens. */
const maxLineLength = 1024 * 1024;
/** Maximum size in bytes of an error answer, which may be a proxy's HTML page. */
const maxErrorBytes = 16 * 1024;

/** Converts an answer with an error status to a failure. Never rejects with ModelFailure. */
export async function failureOfResponse(
  response: Response,
  context: CallContext,
): Promise<ModelFailure> {
  let text = '';
  try {
    text = await readText(response, maxErrorBytes, context);
  } catch (error) {
    if (context.signal.aborted) return failureOfAbort(context.signal, context.model);
    if (!(error instanceof ModelFailure)) throw error;
  }
  const parsed = tryParseJson(text);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  const words = typeof error === 'string' ? error : text.trim() || response.statusText;
  return failureOfError(words, response.status, context.model);
}

/**
 * Checks that an answer is one JSON value and returns it unchanged, because the package prints a warning about
 * anything else. Rejects with ModelFailure.
 */
export async function checkJson(response: Response, context: CallContext): Promise<Response> {
  const text = await readText(response, maxJsonBytes, context);
  if (tryParseJson(text) === undefined) throw malformed('is not JSON', context);
  return new Response(text);
}

/**
 * Checks an answer of JSON lines while it is read. Reading fails with ModelFailure at a line that is not a JSON
 * object, at an error line, and at the end of the stream: a complete answer has a last line after which nobody
 * reads on.
 */
export function checkJsonLines(response: Response, context: CallContext): Response {
  if (!response.body || response.headers.get('content-type')?.includes('html'))
    throw malformed('is an HTML page, not a stream of JSON', context);
  return new Response(ReadableStream.from(linesOf(response.body.getReader(), context)));
}

async function* linesOf(reader: Reader, context: CallContext): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  // Collected in pieces, so that a long line is not scanned again for each piece.
  let pieces: string[] = [];
  let length = 0;
  let hasLines = false;
  for (;;) {
    const { done, value } = await readFrom(reader, context);
    const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    pieces.push(text);
    length += text.length;
    if (length > maxLineLength) throw malformed('contains a line that is too long', context);
    if (!done && !text.includes('\n')) continue;
    const lines = pieces.join('').split('\n');
    // An answer of one value may lack the final newline.
    const rest = done ? '' : (lines.pop() ?? '');
    pieces = [rest];
    length = rest.length;
    for (const line of lines.filter(given => given.trim() !== '')) {
      const parsed = tryParseJson(line);
      if (!isObject(parsed)) {
        if (done && hasLines) throw cutOff(context);
        throw malformed('contains a line that is not a JSON object', context);
      }
      if (typeof parsed['error'] === 'string')
        throw failureOfError(parsed['error'], undefined, context.model);
      hasLines = true;
      yield encoder.encode(`${line}\n`);
    }
    if (done) break;
  }
  throw hasLines ? cutOff(context) : malformed('is empty', context);
}

const cutOff = ({ model }: CallContext) =>
  new ModelFailure('cut', 'the answer ended before it was complete', { model });

type Reader = { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }> };

async function readFrom(reader: Reader, context: CallContext): ReturnType<Reader['read']> {
  try {
    return await reader.read();
  } catch (cause) {
    if (context.signal.aborted) throw failureOfAbort(context.signal, context.model);
    throw new ModelFailure('cut', 'the connection was lost in the middle of the answer', {
      model: context.model,
      cause,
    });
  }
}

async function readText(
  response: Response,
  limitBytes: number,
  context: CallContext,
): Promise<string> {
  if (!response.body) return '';
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await readFrom(reader, context);
    if (done) return Buffer.concat(chunks).toString('utf8');
    if (!value) continue;
    bytes += value.length;
    if (bytes > limitBytes) {
      await reader.cancel();
      throw malformed(`is longer than ${limitBytes} bytes`, context);
    }
    chunks.push(value);
  }
}

function malformed(what: string, { model }: CallContext): ModelFailure {
  return new ModelFailure(
    'malformed',
    `the answer ${what}. Check that OLLAMA_HOST is an Ollama, and any proxy in front of it`,
    { model },
  );
}
