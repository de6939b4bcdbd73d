import { systemClock } from '#core';
import type { Instance, ProcessTarget } from '#runtimes';
import { createProcessRuntime, createWatcher } from '#runtimes/process';

type LaunchOptions = {
  readonly target?: Partial<ProcessTarget>;
  readonly env?: Readonly<Record<string, string>>;
  readonly secretEnv?: readonly string[];
  readonly base?: Readonly<Record<string, string>>;
  readonly stderr?: (line: string) => void;
  readonly signal?: AbortSignal;
};

/** Launches a program, given as source text for Node. */
export function launchSource(source: string, options: LaunchOptions = {}): Promise<Instance> {
  return launchProcess({
    ...options,
    target: { command: process.execPath, args: ['-e', source], ...options.target },
  });
}

export function launchProcess(options: LaunchOptions): Promise<Instance> {
  const runtime = createProcessRuntime(
    {
      environment: options.base ?? {},
      alsoInherited: ['NODE_EXTRA_CA_CERTS'],
      platform: process.platform,
    },
    { clock: systemClock, watcher: createWatcher(options.base?.['PATH']) },
  );
  return runtime.launch(
    {
      server: 'tested',
      target: { kind: 'process', command: 'missing', args: [], ...options.target },
      env: options.env ?? {},
      ...(options.secretEnv && { secretEnv: options.secretEnv }),
      maxLineBytes: 2 ** 20,
      maxWaitingBytes: 2 ** 20,
    },
    { stderr: options.stderr ?? (() => {}), progress() {} },
    options.signal ?? new AbortController().signal,
  );
}
