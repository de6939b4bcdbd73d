import { createAbortScope, durationText } from '#core';
import { ModelFailure } from './failure.ts';
import type { ModelInfo, ModelNeeds } from './model-list.ts';
import type { ModelCaller, QueuePlace } from './model-queue.ts';

type TimedCall = {
  readonly model: string;
  /** Time limit in ms, including the time in the queue. */
  readonly totalMs: number;
  /** The call only loads the model. */
  readonly isLoad?: boolean;
  /** Undefined for the hub's own calls. */
  readonly caller?: ModelCaller | undefined;
};

/** A call at its turn. */
export type Turn = ModelInfo & {
  /** True if the call before was for another model, which may have displaced this one from memory. */
  readonly isSwitch: boolean;
};

/** Makes a call of a model at its turn in the queue. Rejects with ModelFailure. */
export async function atTurn<T>(
  call: TimedCall,
  signal: AbortSignal,
  { clock, modelList, queue }: Pick<ModelNeeds, 'clock' | 'modelList' | 'queue'>,
  run: (turn: Turn, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const endsMs = clock.monotonic() + call.totalMs;
  const joined: { place?: QueuePlace } = {};
  using limit = createAbortScope([signal], {
    clock,
    limitMs: call.totalMs,
    reason: () => lateFailure(call, joined.place),
  });
  const info = await modelList.get(call.model, limit.signal, call.caller);
  const { name: model } = info;
  const client = call.caller?.client ?? 'hub';
  const { isLoad = false } = call;
  using place = queue.join(model, { client, isEmbedding: isEmbedder(info), isLoad, endsMs });
  joined.place = place;
  await place.turn(limit.signal);
  const result = await run({ ...info, isSwitch: place.isSwitch }, limit.signal).catch(
    (error: unknown) => {
      const kind = error instanceof ModelFailure ? error.kind : undefined;
      if (kind === 'busy') queue.lower(model);
      if (kind === 'missing') modelList.invalidate();
      throw error;
    },
  );
  modelList.markLoaded(model);
  queue.succeeded(model);
  if (place.isSwitch) queue.loaded(await modelList.loaded(limit.signal));
  return result;
}

/** Whether a model only embeds: by its name if Ollama does not report what it can do. */
export const isEmbedder = ({ name, capabilities }: ModelInfo): boolean =>
  capabilities
    ? capabilities.includes('embedding') && !capabilities.includes('completion')
    : /embed|minilm|bge-/.test(name);

/** The failure of a call whose time is over, with the part of it that the call waited. */
export function lateFailure(
  { model, totalMs }: Pick<TimedCall, 'model' | 'totalMs'>,
  place: QueuePlace | undefined,
): ModelFailure {
  const waited = place?.waited();
  if (place?.isWaiting)
    return new ModelFailure('queue', waited ?? 'it got no turn in the queue', { model });
  const late = `${model} was not done within ${durationText(totalMs)}`;
  return new ModelFailure('timeout', waited === undefined ? late : `${late}: ${waited}`, { model });
}
