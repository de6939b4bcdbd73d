import { silent, systemClock } from '#core';
import type { Instance, RemoteTarget, Runtime } from '#runtimes';
import { createRemoteRuntime } from '#runtimes/remote';

export type LaunchOptions = {
  readonly transport?: RemoteTarget['transport'];
  readonly headers?: Readonly<Record<string, string>>;
  /** Query that is appended to the URL. */
  readonly query?: string;
  readonly maxLineBytes?: number;
  readonly maxWaitingBytes?: number;
  readonly connectTimeoutMs?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Runtime that launches the server. Default: a new one. */
  readonly runtime?: Runtime;
};

/** Creates a runtime with short waits for tests. */
export function createTestRuntime(connectTimeoutMs = 5000): Runtime {
  return createRemoteRuntime(
    { connectTimeoutMs, reconnect: { firstMs: 5, maxMs: 50, attempts: 3 } },
    { clock: systemClock, log: silent, random: () => 0 },
  );
}

export function launchRemote(url: string, options: LaunchOptions = {}): Promise<Instance> {
  const runtime = options.runtime ?? createTestRuntime(options.connectTimeoutMs);
  return runtime.launch(
    {
      server: 'tested',
      target: {
        kind: 'remote',
        transport: options.transport ?? 'http',
        url: `${url}${options.query ?? ''}`,
        headers: options.headers ?? {},
      },
      env: {},
      maxLineBytes: options.maxLineBytes ?? 2 ** 20,
      maxWaitingBytes: options.maxWaitingBytes ?? 2 ** 20,
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    },
    { stderr() {}, progress() {} },
    options.signal ?? new AbortController().signal,
  );
}
