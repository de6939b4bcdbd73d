import { silent, systemClock } from '#core';
import type { Instance, RemoteTarget, Runtime } from '#runtimes';
import { createRemoteRuntime } from '#runtimes/remote';

export type LaunchOptions = {
  readonly transport?: RemoteTarget['transport'];
  readonly headers?: Readonly<Record<string, string>>;
  /** What stands behind the address. */
  readonly query?: string;
  readonly maxLineBytes?: number;
  readonly maxWaitingBytes?: number;
  readonly connectTimeoutMs?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** One that launched something else before; else one of its own. */
  readonly runtime?: Runtime;
};

/** A runtime with waits that suit a test. */
export function createTestRuntime(connectTimeoutMs = 5000): Runtime {
  return createRemoteRuntime(
    { connectTimeoutMs, reconnect: { firstMs: 5, maxMs: 50, attempts: 3 } },
    { clock: systemClock, log: silent, random: () => 0 },
  );
}

/** Launches a remote server. */
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
