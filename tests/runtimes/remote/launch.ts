import { silent, systemClock } from '#core';
import type { Instance, RemoteTarget } from '#runtimes';
import { createRemoteRuntime } from '#runtimes/remote';

export type LaunchOptions = {
  readonly transport?: RemoteTarget['transport'];
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxLineBytes?: number;
  readonly maxWaitingBytes?: number;
  readonly connectTimeoutMs?: number;
  readonly signal?: AbortSignal;
};

/** Launches a remote server with waits that suit a test. */
export function launchRemote(url: string, options: LaunchOptions = {}): Promise<Instance> {
  const runtime = createRemoteRuntime(
    {
      connectTimeoutMs: options.connectTimeoutMs ?? 5000,
      reconnect: { firstMs: 5, maxMs: 50, attempts: 3 },
    },
    { clock: systemClock, log: silent, random: () => 0 },
  );
  return runtime.launch(
    {
      server: 'tested',
      target: {
        kind: 'remote',
        transport: options.transport ?? 'http',
        url,
        headers: options.headers ?? {},
      },
      env: {},
      maxLineBytes: options.maxLineBytes ?? 2 ** 20,
      maxWaitingBytes: options.maxWaitingBytes ?? 2 ** 20,
    },
    { stderr() {}, progress() {} },
    options.signal ?? new AbortController().signal,
  );
}
