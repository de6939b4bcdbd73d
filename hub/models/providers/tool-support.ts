import { isObject, tryParseJson } from '#core';
import { ModelFailure } from '../failure.ts';
import type { ProviderCall } from './provider-failure.ts';
import { wholeText } from './provider-response.ts';

/** True if a llama-server sent the response. */
export const isOfLlamaServer = ({ headers }: Pick<Response, 'headers'>): boolean =>
  headers.get('server') === 'llama.cpp';

/**
 * Rejects with ModelFailure if the chat template of a llama-server ignores tools: the model would answer as if it had
 * none. Other endpoints refuse tools themselves.
 */
export async function requireToolTemplate(
  url: string,
  call: ProviderCall,
  { fetch, signal }: { readonly fetch: typeof globalThis.fetch; readonly signal: AbortSignal },
): Promise<void> {
  if ((await readToolSupport(url, call, fetch, signal)) !== false) return;
  const { model, provider } = call;
  throw new ModelFailure(
    'refused',
    `${model} cannot call tools: the chat template of the llama-server of ${provider} does not show them to it. Start llama-server with a template that has tools (--jinja --chat-template-file FILE), or choose another model`,
    { model },
  );
}

/** Returns whether a llama-server supports tools, from `chat_template_caps` of GET /props; undefined if unknown. */
async function readToolSupport(
  url: string,
  call: ProviderCall,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { key } = call;
  try {
    const response = await fetch(`${url.replace(/\/v1$/, '')}/props`, {
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      // A redirect could send the key to another host.
      redirect: 'error',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      return undefined;
    }
    const props = tryParseJson(await wholeText(response, call, signal));
    const caps = isObject(props) ? props['chat_template_caps'] : undefined;
    const supports = isObject(caps) ? caps['supports_tools'] : undefined;
    return typeof supports === 'boolean' ? supports : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined; // Support is unknown, so send the call to the model.
  }
}
