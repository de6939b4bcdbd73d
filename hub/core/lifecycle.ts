/** A thing the app starts and stops. A part that failed to start has cleaned up after itself. */
export interface Part {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Starts parts in order. If one fails, the parts before it are stopped, last first. */
export async function startAll(
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  for (const part of parts) {
    signal.throwIfAborted();
    await part.start(signal);
    started.defer(() => part.stop());
  }
  return started.move();
}
