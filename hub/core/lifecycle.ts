/** A long-lived component of the app. A service whose `start` fails has released everything it opened. */
export interface Service {
  start(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts services in order; disposing the result stops them in reverse order. If one fails to start, the services
 * before it are stopped in reverse order and its error is thrown.
 */
export async function startAll(
  services: readonly Service[],
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  for (const service of services) {
    signal.throwIfAborted();
    await service.start(signal);
    started.defer(() => service.stop());
  }
  return started.move();
}
