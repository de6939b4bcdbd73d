import { createEmitter, createSingleFlight, isObject } from '#core';
import type { PullProgress } from './absence.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import type { ModelNeeds } from './model-list.ts';
import { fullName } from './model-name.ts';
import type { OllamaClient } from './ollama-call.ts';

/** Idle timeout of a pull in ms. Ollama itself aborts a stalled transfer earlier. */
const silentMs = 120_000;
/** Maximum number of concurrent pulls, which share the bandwidth. */
const maxPulls = 4;

/**
 * Creates a function that pulls a model, and resolves when the model is complete. Concurrent pulls of one model share
 * one request. If a pull is cancelled, Ollama keeps the data transferred so far.
 */
export function createPull({
  callOllama,
  modelList,
  absences,
}: Pick<ModelNeeds, 'callOllama' | 'modelList' | 'absences'>) {
  const flights = createSingleFlight<void>();
  const broadcasts = new Map<string, ReturnType<typeof createProgressBroadcast>>();

  return async (
    name: string,
    progress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const model = fullName(name);
    if (signal.aborted) throw failureOfAbort(signal, model);
    const busy = `${maxPulls} pulls are under way. Wait for one of them`;
    if (!flights.has(model) && flights.size >= maxPulls)
      throw new ModelFailure('busy', busy, { model });
    const broadcast = broadcasts.get(model) ?? createProgressBroadcast();
    broadcasts.set(model, broadcast);
    if (!flights.has(model)) absences.pulling(model);
    using _subscription = broadcast.subscribe(progress);
    const subject = `the pull of ${model}`;
    const call = { subject, model, isStream: true, silentMs, isGated: false };
    const run = async (client: OllamaClient, heard: () => void) => {
      for await (const line of await client.pull({ model, stream: true })) {
        heard();
        const told = parseProgress(line);
        absences.pulling(model, told);
        broadcast.fire(told);
      }
      modelList.invalidate();
    };
    try {
      await flights.join(model, given => callOllama({ ...call, run }, given), signal);
    } catch (error) {
      if (error instanceof ModelFailure && error.kind === 'missing') absences.unknown(model);
      throw signal.aborted ? failureOfAbort(signal, model) : error;
    } finally {
      if (!flights.has(model)) {
        broadcasts.delete(model);
        absences.pulled(model);
      }
    }
  };
}

/** Creates an emitter of progress events. A new subscriber gets the latest progress at once. */
function createProgressBroadcast() {
  const { event, fire } = createEmitter<PullProgress>();
  let latest: PullProgress | undefined;
  return {
    fire(progress: PullProgress): void {
      latest = progress;
      fire(progress);
    },
    subscribe(listener: (progress: PullProgress) => void): Disposable {
      if (latest) listener(latest);
      return event(listener);
    },
  };
}

function parseProgress(line: unknown): PullProgress {
  const { status, digest, total, completed } = isObject(line) ? line : {};
  return {
    status: typeof status === 'string' ? status : '',
    digest: typeof digest === 'string' ? digest : undefined,
    totalBytes: typeof total === 'number' ? total : undefined,
    completedBytes: typeof completed === 'number' ? completed : undefined,
  };
}
