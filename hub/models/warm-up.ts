import { type Log, messageOf } from '#core';
import type { Call, Caller } from './call.ts';
import { ModelFailure } from './failure.ts';
import type { Listing, ModelInfo } from './listing.ts';
import { fullName } from './names.ts';

/** Node's fetch waits no longer than 300 s for an answer, which comes when the model is loaded. */
const totalMs = 290_000;
/** More at a time would only push each other out of memory. */
const maxWarmUps = 8;

export type WarmUpNeeds = {
  readonly caller: Pick<Caller, 'call'>;
  readonly listing: Pick<Listing, 'get' | 'loaded'>;
  readonly log: Log;
  readonly keepAlive: string | number;
  readonly life: AbortSignal;
};

/**
 * Has models loaded before they are needed; a function that returns at once and never throws. Options
 * are to be those of the calls to come, for with another num_ctx the model is loaded again.
 */
export function createWarmUps(needs: WarmUpNeeds): (model: string, options: object) => void {
  const { caller, listing, log } = needs;
  const underWay = new Set<string>();

  async function load(name: string, options: object): Promise<void> {
    const model = await listing.get(name, needs.life);
    const call = {
      subject: model.name,
      model: model.name,
      silentMs: undefined,
      totalMs,
      isGated: true,
    };
    await caller.call(loadingOf(model, { ...needs, options }, call), needs.life);
    listing.loaded(model.name);
  }

  async function tried(name: string, options: object): Promise<void> {
    try {
      await load(name, options);
      log.info({ model: name }, 'the model is in memory');
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      log.info({ model: name, kind: error.kind, error: messageOf(error) }, 'no model to warm up');
    } finally {
      underWay.delete(name);
    }
  }

  return (name, options) => {
    const model = fullName(name);
    if (needs.life.aborted || underWay.has(model) || underWay.size >= maxWarmUps) return;
    underWay.add(model);
    void tried(model, options);
  };
}

/** A chat of no messages loads a model that chats, the vector of no text one that embeds. */
function loadingOf(
  { name: model, capabilities }: ModelInfo,
  { keepAlive, options }: { readonly keepAlive: string | number; readonly options: object },
  call: Omit<Call<void>, 'run' | 'isStream'>,
): Call<void> {
  const body = { model, keep_alive: keepAlive, options };
  if (capabilities?.includes('embedding') || /embed|minilm|bge-/.test(model))
    return {
      ...call,
      isStream: false,
      run: async client => void (await client.embed({ ...body, input: '', truncate: false })),
    };
  return {
    ...call,
    isStream: true,
    async run(client) {
      // Nothing but the one line that it is loaded.
      for await (const _ of await client.chat({ ...body, messages: [], stream: true }));
    },
  };
}
