import { chown, mkdir } from 'node:fs/promises';
import { type AgentsConfig, type ServerConfig, ownServerConfig } from '#config';
import type { LaunchSpec } from '#runtimes';
import type { AgentSettings } from '../agent-types.ts';

/** Options for the launch of agents' containers. */
export type LaunchOptions = {
  readonly config: () => AgentsConfig;
  /** Port of the HTTP API inside the container. */
  readonly port: number;
  /** Prefix of the names of agents' networks. */
  readonly network: string;
  readonly workspaceOf: (id: string) => string;
  /** The volume with the data of a hub in a container. Undefined: the engine mounts the folder of the hub. */
  readonly dataVolume: string | undefined;
};

/** The user of the image, who owns the workspaces if the hub runs as root. */
const imageUser = 10_001;
/** The workspace in the container. */
const workspace = '/workspace';
const mib = 2 ** 20;
const minute = 60_000;
/** Large, because a result has all messages of a turn with the results of its tools. */
const maxLineBytes = 64 * mib;

/** The server name of an agent. Names of config entries cannot begin with a dot. */
const serverNameOf = (id: string): string => `.agent-${id}`;

/** Returns the config of an agent's container as of a server. Its `launch` is not used: see `launchSpecOf`. */
export const serverConfigOf = (id: string, turnMs: number, hubCapabilities: object): ServerConfig =>
  ownServerConfig(serverNameOf(id), {
    hubCapabilities,
    isUnlisted: true,
    // The next message starts it again.
    restart: 'temporary',
    healthCheckIntervalMs: minute,
    startTimeoutMs: minute,
    callTimeoutMs: turnMs,
    inputTimeoutMs: minute,
    maxLineBytes,
    maxConcurrentCalls: 10,
    maxQueuedCalls: 10,
    era: 'legacy',
    instanceIdleMs: minute,
    launch: { runtime: 'docker', logs: 'bounded' },
  });

/** Returns the launch spec of an agent's container: without secrets, and writable only in the workspace and tmpfs. Pure. */
export function launchSpecOf(
  id: string,
  { grants }: Pick<AgentSettings, 'grants'>,
  { config, port, network, workspaceOf, dataVolume }: LaunchOptions,
): LaunchSpec {
  const { memoryBytes, cpus, pids, workspaceBytes } = config();
  const user = ownUser();
  return {
    server: serverNameOf(id),
    target: {
      kind: 'docker',
      image: { context: 'agent' },
      args: [],
      ...(user !== undefined && { user }),
      network: grants.network,
      networkName: `${network}-${id}`,
      mounts:
        dataVolume === undefined
          ? [{ source: workspaceOf(id), target: workspace, readOnly: false }]
          : [],
      volumes: [],
      ...(dataVolume !== undefined && {
        volumeFolders: [{ volume: dataVolume, path: `agents/${id}/workspace`, target: workspace }],
      }),
      limits: {
        memoryBytes,
        cpus,
        pids,
        scratchBytes: Math.min(256 * mib, Math.floor(memoryBytes / 4)),
        volumeBytes: workspaceBytes,
        fileBytes: workspaceBytes,
      },
      logs: 'bounded',
    },
    env: { CONTAINER_PORT: String(port) },
    maxLineBytes,
    maxWaitingBytes: maxLineBytes,
    timeoutMs: minute,
  };
}

/** Returns the user of the container; undefined for that of the image. A hub that is not root can only use its own. */
function ownUser(): string | undefined {
  const { getuid, getgid } = process;
  if (!getuid || !getgid || getuid() === 0) return undefined;
  return `${getuid()}:${getgid()}`;
}

/** Creates the workspace. Only the user of the container has access. */
export async function prepareWorkspace(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (process.getuid?.() === 0) await chown(path, imageUser, imageUser);
}
