import { messageOf } from '#core';
import { createEventParser } from '#jsonrpc';
import { ModelFailure, failureOfAbort } from '../failure.ts';
import { chunksOf, textOf } from '../response-body.ts';
import type { ProviderCall } from './provider-failure.ts';

/** Maximum size in bytes of an event of a stream, which has a few tokens, or the arguments of a call. */
const maxChunkBytes = 1024 * 1024;
/** Maximum size in bytes of a completion that is not streamed. */
const maxWholeBytes = 8 * 1024 * 1024;

/** Sends a request with the key of a provider. Rejects with ModelFailure. */
export async function fetchWithKey(
  url: string,
  { provider, model, key }: ProviderCall,
  { fetch, signal }: { readonly fetch: typeof globalThis.fetch; readonly signal: AbortSignal },
  init: { readonly method?: string; readonly headers?: object; readonly body?: string } = {},
): Promise<Response> {
  try {
    const headers = {
      ...init.headers,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    // A redirect could send the key and the conversation to another host.
    return await fetch(url, { ...init, headers, redirect: 'error', signal });
  } catch (cause) {
    if (signal.aborted) throw failureOfAbort(signal, model);
    const message = `${provider} did not answer: ${messageOf(cause)}. Check models.providers.${provider}.url`;
    throw new ModelFailure('unreachable', message, { model, cause });
  }
}

export const malformed = ({ provider, model }: ProviderCall, what: string) =>
  new ModelFailure(
    'malformed',
    `the answer of ${provider} has ${what}. Check that models.providers.${provider}.url is the base of an OpenAI-compatible API`,
    { model },
  );

/** Yields the data of each event of a stream of server-sent events. */
export async function* eventsOf(
  response: Response,
  call: ProviderCall,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const events: string[] = [];
  let isTooLong = false;
  const parser = createEventParser(
    { maxBytes: maxChunkBytes },
    {
      event: ({ data }) => void events.push(data.toString()),
      oversized: () => void (isTooLong = true),
      retry: () => {},
    },
  );
  for await (const chunk of chunksOf(response, { ...call, signal })) {
    parser.push(Buffer.from(chunk));
    if (isTooLong) throw malformed(call, 'a part that is too long');
    yield* events.splice(0).filter(data => data !== '');
  }
}

/** Returns a response that is not streamed. Rejects with ModelFailure. */
export const wholeText = (response: Response, call: ProviderCall, signal: AbortSignal) =>
  textOf(response, maxWholeBytes, { ...call, signal });
