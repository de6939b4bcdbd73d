import { type Log, messageOf } from '#core';
import type { OllamaCall, OllamaCaller } from './ollama-call.ts';
import { ModelFailure } from './failure.ts';
import type { ModelInfo, ModelList } from './model-list.ts';
import { fullName } from './model-names.ts';

/**
 * Timeout in ms, below the 300 s after which Node's fetch gives up. The answer comes when the model is loaded.
 */
const totalMs = 290_000;
/** Maximum number of concurrent warm-ups: more would evict each other from memory. */
const maxWarmUps = 8;

export type WarmUpNeeds = {
  readonly caller: Pick<OllamaCaller, 'call'>;
  readonly modelList: Pick<ModelList, 'get' | 'markLoaded'>;
  readonly log: Log;
  readonly keepAlive: string | number;
  readonly life: AbortSignal;
};

/**
 * Creates a function that loads a model in the background. It returns at once and never throws. Pass the
 * options of later calls: with another num_ctx Ollama loads the model again.
 */
export function createWarmUps(needs: WarmUpNeeds): (model: string, options: object) => void {
  const { caller, modelList, log } = needs;
  const loading = new Set<string>();

  async function load(name: string, options: object): Promise<void> {
    const model = await modelList.get(name, needs.life);
    const call = { subject: model.name, model: model.name, totalMs, isGated: true };
    await caller.call(loadCallOf(model, { ...needs, options }, call), needs.life);
    modelList.markLoaded(model.name);
  }

  async function loadAndLog(name: string, options: object): Promise<void> {
    try {
      await load(name, options);
      log.info({ model: name }, 'the model is loaded');
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      log.info(
        { model: name, kind: error.kind, error: messageOf(error) },
        'the model could not be loaded in advance',
      );
    } finally {
      loading.delete(name);
    }
  }

  return (name, options) => {
    const model = fullName(name);
    if (needs.life.aborted || loading.has(model) || loading.size >= maxWarmUps) return;
    loading.add(model);
    void loadAndLog(model, options);
  };
}

/** The call that loads a model: a chat without messages, or an embedding of an empty text. */
function loadCallOf(
  { name: model, capabilities }: ModelInfo,
  { keepAlive, options }: { readonly keepAlive: string | number; readonly options: object },
  call: Omit<OllamaCall<void>, 'run' | 'isStream'>,
): OllamaCall<void> {
  const body = { model, keep_alive: keepAlive, options };
  if (capabilities?.includes('embedding') || /embed|minilm|bge-/.test(model))
    return {
      ...call,
      run: async client => void (await client.embed({ ...body, input: '', truncate: false })),
    };
  return {
    ...call,
    isStream: true,
    async run(client) {
      // The stream has a single line.
      for await (const _ of await client.chat({ ...body, messages: [], stream: true }));
    },
  };
}
