import { type Clock, createAbortScope, isObject, tryParseJson } from '#core';
import { ModelFailure, failureOfAbort } from '../failure.ts';
import { errorTextOf } from '../response-body.ts';
import { failureInChunk, failureOfStatus, requireKey } from './provider-failure.ts';
import { fetchWithKey, malformed, wholeText } from './provider-response.ts';

type ListNeeds = {
  readonly provider: string;
  readonly settings: {
    readonly url: string;
    readonly key: string | undefined;
    readonly keyFault: string | undefined;
  };
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
};

const timeoutMs = 5_000;
const maxModels = 1_000;

/** Returns the ids of GET /models of an OpenAI-compatible API, at most 1000. Rejects with ModelFailure. */
export async function listModels(
  { provider, settings, clock, fetch }: ListNeeds,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { url, key } = settings;
  const call = { provider, model: provider, key };
  requireKey(call, settings.keyFault);
  using limit = createAbortScope([signal], {
    clock,
    limitMs: timeoutMs,
    reason: () => new ModelFailure('timeout', `${provider} did not list its models in time`),
  });
  try {
    const response = await fetchWithKey(`${url}/models`, call, { fetch, signal: limit.signal });
    if (!response.ok) {
      const text = await errorTextOf(response, { ...call, signal: limit.signal });
      throw failureOfStatus(response, text, clock.now(), call);
    }
    const body = tryParseJson(await wholeText(response, call, limit.signal));
    const failure = isObject(body) && failureInChunk(body, call);
    if (failure) throw failure;
    const data = isObject(body) ? body['data'] : undefined;
    if (!Array.isArray(data)) throw malformed(call, 'no list of models');
    return data
      .slice(0, maxModels)
      .flatMap((one: unknown) => (isObject(one) && typeof one['id'] === 'string' ? one['id'] : []));
  } catch (error) {
    throw limit.signal.aborted ? failureOfAbort(limit.signal, undefined) : error;
  }
}
