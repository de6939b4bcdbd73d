import { isObject } from '#core';
import { ModelFailure, failureOfAbort, failureOfError } from './failure.ts';

type About = { readonly model: string | undefined; readonly signal: AbortSignal };

/** No list and no vector comes near to it. */
const maxBytes = 8 * 1024 * 1024;
/** In characters, before its end is seen: a line holds a few tokens. */
const maxLineLength = 1024 * 1024;
/** An error may come with a page of a proxy, of which no more is read. */
const maxErrorBytes = 16 * 1024;

/** The failure that an answer with an error status stands for; never rejects. */
export async function failureOfResponse(response: Response, about: About): Promise<ModelFailure> {
  let text = '';
  try {
    text = await wholeText(response, maxErrorBytes, about);
  } catch (error) {
    if (about.signal.aborted) return failureOfAbort(about.signal, about.model);
    if (!(error instanceof ModelFailure)) throw error;
  }
  const parsed = parsedOrUndefined(text);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  const words = typeof error === 'string' ? error : text.trim() || response.statusText;
  return failureOfError(words, response.status, about.model);
}

/**
 * The same answer, which is one JSON value, so that the package has nothing to print about it. Rejects
 * with ModelFailure where it is none.
 */
export async function checkWhole(response: Response, about: About): Promise<Response> {
  const text = await wholeText(response, maxBytes, about);
  if (parsedOrUndefined(text) === undefined) throw malformed('is no JSON', about);
  return new Response(text);
}

/**
 * The same answer, which is of JSON lines, as they come in. Reading it fails with ModelFailure at a line
 * that is no JSON object, at an error, and at its end: whoever is told that it is done reads no further.
 */
export function checkLines(response: Response, about: About): Response {
  if (!response.body || response.headers.get('content-type')?.includes('html'))
    throw malformed('is a page, not a stream of JSON', about);
  return new Response(ReadableStream.from(linesOf(response.body.getReader(), about)));
}

async function* linesOf(reader: Reader, about: About): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  // A long line is not looked through again with each piece of it.
  let pieces: string[] = [];
  let length = 0;
  let isBegun = false;
  for (;;) {
    const { done, value } = await readFrom(reader, about);
    const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    pieces.push(text);
    length += text.length;
    if (length > maxLineLength) throw malformed('holds a line without an end', about);
    if (!done && !text.includes('\n')) continue;
    const lines = pieces.join('').split('\n');
    // An answer of one value may end without a newline.
    const rest = done ? '' : (lines.pop() ?? '');
    pieces = [rest];
    length = rest.length;
    for (const line of lines.filter(given => given.trim() !== '')) {
      const parsed = parsedOrUndefined(line);
      if (!isObject(parsed)) {
        if (done && isBegun) throw cut(about);
        throw malformed('holds a line that is no JSON object', about);
      }
      if (typeof parsed['error'] === 'string')
        throw failureOfError(parsed['error'], undefined, about.model);
      isBegun = true;
      yield encoder.encode(`${line}\n`);
    }
    if (done) break;
  }
  throw isBegun ? cut(about) : malformed('holds no line', about);
}

const cut = ({ model }: About) =>
  new ModelFailure('cut', 'the answer ended before it was done', { model });

type Reader = { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }> };

async function readFrom(reader: Reader, about: About): ReturnType<Reader['read']> {
  try {
    return await reader.read();
  } catch (cause) {
    if (about.signal.aborted) throw failureOfAbort(about.signal, about.model);
    throw new ModelFailure('cut', 'the connection was lost in the middle of the answer', {
      model: about.model,
      cause,
    });
  }
}

async function wholeText(response: Response, most: number, about: About): Promise<string> {
  if (!response.body) return '';
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await readFrom(reader, about);
    if (done) return Buffer.concat(chunks).toString('utf8');
    if (!value) continue;
    bytes += value.length;
    if (bytes > most) {
      await reader.cancel();
      throw malformed(`is longer than ${most} bytes`, about);
    }
    chunks.push(value);
  }
}

function malformed(what: string, { model }: About): ModelFailure {
  return new ModelFailure(
    'malformed',
    `the answer ${what}. Check that OLLAMA_HOST is an Ollama, and any proxy before it`,
    { model },
  );
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
