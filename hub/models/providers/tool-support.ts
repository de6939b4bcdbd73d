import { isObject, tryParseJson } from '#core';
import { ModelFailure } from '../failure.ts';
import type { ProviderCall } from './provider-failure.ts';
import { wholeText } from './provider-response.ts';

/** Whether a response is of llama-server. */
export const isOfLlamaServer = ({ headers }: Pick<Response, 'headers'>): boolean =>
  headers.get('server') === 'llama.cpp';

/**
 * Rejects if the model of a llama-server is not shown tools: its chat template ignores them, and the model would answer as
 * if it had none. Other endpoints refuse tools themselves.
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

/** `chat_template_caps` of GET /props, beside the base of the API. Undefined if it says nothing. */
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
      // A redirect could take the key elsewhere.
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
    return undefined; // The answer of the model decides.
  }
}
