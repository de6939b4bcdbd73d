import { type EnhancementRules, type Settings, modelsOf } from '#config';
import { type Clock, messageOf, silent, within } from '#core';
import { createMissingModels, createModels } from '#models';
import { createBreaker } from '#resilience';

/** Timeout in ms. A working Ollama answers faster. */
const maxWaitMs = 5_000;

/** Examines Ollama and the models of the rules, without a running hub. Rejects only with the reason of `signal`. */
export async function examineOllama(
  { ollama, breaker: options }: Settings,
  { rules, clock }: { readonly rules: EnhancementRules; readonly clock: Clock },
  signal: AbortSignal,
) {
  const { url } = ollama;
  if (url === undefined) return { state: 'off', detail: 'not used: set OLLAMA_HOST', missing: [] };
  using breaker = createBreaker({ ...options, trialMs: maxWaitMs }, clock);
  const models = createModels({ url }, { clock, log: silent, fetch, breaker });
  const wanted = modelsOf(rules, ollama.model);
  if (ollama.isPulling) models.planPulls(wanted.map(({ model }) => model));
  const missing = createMissingModels(() => wanted, { models, clock, log: silent });
  try {
    await within(maxWaitMs, { clock, signal }, async inTime => await models.list(inTime));
    const found = await missing.check();
    const { status } = models;
    const detail = status.kind === 'up' ? `Ollama ${status.version}` : 'Ollama';
    return { state: 'up', detail, missing: found };
  } catch (error) {
    signal.throwIfAborted();
    return { state: 'down', detail: messageOf(error), missing: [] };
  } finally {
    await missing.stop();
    await models.stop();
  }
}
