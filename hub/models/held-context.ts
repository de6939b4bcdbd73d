import { isObject } from '#core';
import { isSameModel } from './model-name.ts';
import type { CallOllama, OllamaClient } from './ollama-call.ts';

/** Timeout in ms. Short, because the failure of a call waits for this request. */
const totalMs = 500;

/** Context size in tokens of a model in Ollama's memory; undefined if it is not loaded or Ollama does not report it. */
export async function contextInMemory(
  client: Pick<OllamaClient, 'ps'>,
  model: string,
): Promise<number | undefined> {
  const running: unknown = await client.ps();
  const models = isObject(running) ? running['models'] : undefined;
  if (!Array.isArray(models)) return undefined;
  const own = models
    .filter(isObject)
    .find(({ name }) => typeof name === 'string' && isSameModel(name, model));
  return sizeOf(own?.['context_length']);
}

/**
 * Returns a possible reason why a model does not answer: another program uses it with another context size. Ollama
 * (seen in 0.24.0) reloads such a model only when it was idle for its `keep_alive`. Undefined if the size is not the
 * reason. Never rejects.
 */
export async function whyHeld(
  { model, options }: { readonly model: string; readonly options: object },
  signal: AbortSignal,
  callOllama: CallOllama,
): Promise<string | undefined> {
  const asked = 'num_ctx' in options ? sizeOf(options.num_ctx) : undefined;
  if (asked === undefined) return undefined;
  const run = async (client: OllamaClient) => {
    const held = await contextInMemory(client, model);
    if (held === undefined || held === asked) return undefined;
    // Ollama reduces a context to the size that the model was trained with, so the hub itself may have loaded the
    // smaller one.
    return held > asked || held < Math.min(asked, await trainedContext(client, model))
      ? held
      : undefined;
  };
  const call = { subject: 'the context of the model in memory', totalMs, isGated: false, run };
  const held = await callOllama(call, signal).catch(() => undefined); // The failure of the call is reported without this reason.
  return held === undefined
    ? undefined
    : `Ollama holds it with a context of ${held} tokens, and the hub asks for ${asked}. Use one size in all programs, or run "ollama stop ${model}"`;
}

/** Maximum context size of a model in tokens; 0 if Ollama does not report it. */
async function trainedContext(client: Pick<OllamaClient, 'show'>, model: string): Promise<number> {
  const shown: unknown = await client.show({ model });
  const info = isObject(shown) && isObject(shown['model_info']) ? shown['model_info'] : {};
  // The key starts with the architecture, such as `llama.context_length`.
  const [, trained] = Object.entries(info).find(([key]) => key.endsWith('.context_length')) ?? [];
  return sizeOf(trained) ?? 0;
}

const sizeOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value > 0 ? value : undefined;
