import type { LocalLaunch, ServerConfig } from './normalize.ts';

type Given = Partial<Omit<ServerConfig, 'name' | 'launch'>> & {
  readonly launch: Pick<LocalLaunch, 'runtime'> & Pick<LocalLaunch['sandbox'], 'logs'>;
};

/** Creates the config of a built-in server, which is in no config file. Its `launch` starts nothing. */
export const ownServerConfig = (
  name: string,
  { launch: { runtime, logs }, ...given }: Given,
): ServerConfig => ({
  name,
  description: undefined,
  tags: [],
  enabled: true,
  autoStart: false,
  restart: 'permanent',
  maxRestarts: 0,
  healthCheckIntervalMs: 30_000,
  startTimeoutMs: 0,
  callTimeoutMs: 0,
  inputTimeoutMs: 0,
  maxLineBytes: 0,
  maxConcurrentCalls: 64,
  maxQueuedCalls: 1_000,
  maxNotifications: 1_000,
  idleStopMs: undefined,
  instance: 'shared',
  era: 'auto',
  maxInstances: 1,
  instanceIdleMs: 0,
  ...given,
  launch: {
    kind: 'local',
    runtime,
    image: undefined,
    package: undefined,
    command: undefined,
    args: [],
    env: {},
    workingDirectory: undefined,
    sandbox: {
      network: 'none',
      mounts: [],
      volumes: [],
      limits: { memoryBytes: 0, cpus: 0, pids: 0, scratchBytes: 0, volumeBytes: 0 },
      logs,
      user: undefined,
    },
  },
});
