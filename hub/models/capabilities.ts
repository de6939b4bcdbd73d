import { type Clock, createSingleFlight, isObject, setBounded } from '#core';
import { ModelFailure } from './failure.ts';
import type { CallOllama, OllamaClient } from './ollama-call.ts';

type Listed = {
  readonly name: string;
  readonly digest: string;
  readonly capabilities: readonly string[] | undefined;
};
type Shown = Pick<Listed, 'capabilities'> & { readonly atMs: number };

const totalMs = 2_000;
/** Minimum time in ms between two requests for the capabilities of a model, after a failed one. */
const retryMs = 30_000;
const maxShown = 1_000;

/**
 * Creates a function that adds the capabilities to a model that was listed without them. Ollama 0.24.0 returns them
 * only from /api/show, which is called once for each digest. If it fails, the capabilities stay undefined.
 */
export function createCapabilities(needs: {
  readonly callOllama: CallOllama;
  readonly clock: Clock;
}) {
  const { callOllama, clock } = needs;
  const shown = new Map<string, Shown>();
  const flights = createSingleFlight<Shown>();

  async function show(model: Listed, signal: AbortSignal): Promise<Shown> {
    const { name } = model;
    const run = async (client: OllamaClient) =>
      parseCapabilities(await client.show({ model: name }));
    const call = {
      subject: `the capabilities of ${name}`,
      model: name,
      totalMs,
      isGated: true,
      run,
    };
    const capabilities = await callOllama(call, signal).catch((error: unknown) => {
      // The hub works without the capabilities. Ollama then refuses a call that the model does not support.
      if (error instanceof ModelFailure && error.kind !== 'cancelled') return undefined;
      throw error;
    });
    const made = { capabilities, atMs: clock.monotonic() };
    setBounded(shown, keyOf(model), made, maxShown);
    return made;
  }

  return async <T extends Listed>(model: T, signal: AbortSignal): Promise<T> => {
    if (model.capabilities) return model;
    const key = keyOf(model);
    const known = shown.get(key);
    const isUsable =
      known?.capabilities || clock.monotonic() - (known?.atMs ?? -Infinity) < retryMs;
    const { capabilities } =
      known && isUsable ? known : await flights.join(key, ended => show(model, ended), signal);
    return { ...model, capabilities };
  };
}

const keyOf = ({ name, digest }: Pick<Listed, 'name' | 'digest'>) => `${name} ${digest}`;

function parseCapabilities(shown: unknown): readonly string[] | undefined {
  const given = isObject(shown) ? shown['capabilities'] : undefined;
  return Array.isArray(given) ? given.map(String) : undefined;
}
