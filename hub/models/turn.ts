import { createAbortScope, durationText } from '#core';
import { ModelFailure } from './failure.ts';
import type { ModelInfo, ModelNeeds } from './model-list.ts';
import type { ModelCaller, QueuePlace } from './model-queue.ts';

type TimedCall = {
  readonly model: string;
  /** Time limit in ms, including the time in the queue. */
  readonly totalMs: number;
  /** Name of the setting that `totalMs` comes from, for error messages. */
  readonly totalSetting?: string;
  /** True if the call only loads the model. */
  readonly isLoad?: boolean;
  /** Context size in tokens (`num_ctx`) with which the call loads the model; undefined for the default. */
  readonly contextTokens?: unknown;
  /** Absent for the hub's own calls. */
  readonly caller?: ModelCaller | undefined;
};

/** The model of a call that has its turn in the queue. */
export type Turn = ModelInfo & {
  /** True if the previous call was for another model, which may have displaced this one from memory. */
  readonly isSwitch: boolean;
};

/** Waits for the call's turn in the queue of the model, and runs it. Rejects with ModelFailure. */
export async function atTurn<T>(
  call: TimedCall,
  signal: AbortSignal,
  {
    clock,
    modelList,
    queue,
    loadLater,
  }: Pick<ModelNeeds, 'clock' | 'modelList' | 'queue' | 'loadLater'>,
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
      if (kind) loadLater?.(info, kind, call.contextTokens);
      if (kind !== 'missing') throw error;
      // Removed after the list was read.
      modelList.invalidate();
      throw modelList.missing(call.model, error);
    },
  );
  modelList.markLoaded(model);
  queue.succeeded(model);
  if (place.isSwitch) queue.loaded(await modelList.loaded(limit.signal));
  return result;
}

/** True if a model can only embed. Decided by its name if Ollama does not report its capabilities. */
export const isEmbedder = ({ name, capabilities }: ModelInfo): boolean =>
  capabilities
    ? capabilities.includes('embedding') && !capabilities.includes('completion')
    : /embed|minilm|bge-/i.test(name);

/** Returns the failure of a call that timed out. The message contains the time that the call waited in the queue. */
export function lateFailure(
  { model, totalMs, totalSetting }: Pick<TimedCall, 'model' | 'totalMs' | 'totalSetting'>,
  place: QueuePlace | undefined,
): ModelFailure {
  const waited = place?.waited();
  if (place?.isWaiting)
    return new ModelFailure('queue', waited ?? 'it got no turn in the queue', { model });
  const late = `${model} was not done within ${durationText(totalMs)}`;
  const why = waited === undefined ? late : `${late}: ${waited}`;
  const remedy = totalSetting === undefined ? '' : `. Raise ${totalSetting}`;
  return new ModelFailure('timeout', why + remedy, { model });
}
