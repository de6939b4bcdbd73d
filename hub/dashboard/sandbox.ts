import type { ServerConfig } from '#config';
import { planLaunch, runtimeOf } from '#servers';
import { addressOf } from './entry.ts';

/** Placeholder: the paths of data folders are not shown. */
const nowhere = '/';

/** Isolation of a server, in the words of its page. */
export type SandboxView = {
  /** False for a process on the hub's machine. */
  readonly isThere: boolean;
  readonly rows: readonly (readonly [name: string, value: string])[];
};

/** The effective sandbox of a server, if `backend` is the default runtime. */
export function sandboxOf(config: ServerConfig, backend: 'docker' | 'process'): SandboxView {
  const { launch } = config;
  if (launch.kind === 'remote')
    return {
      isThere: true,
      rows: [
        ['Runs', 'elsewhere: the hub only speaks to it'],
        ['Address', addressOf(launch.url)],
      ],
    };
  // No plan: the command has no image, so the server cannot run.
  const plan =
    runtimeOf(launch, backend) === 'docker' && launch.image === undefined && !launch.package
      ? undefined
      : planLaunch(config, { auto: backend, dataDir: nowhere }).target;
  if (plan?.kind !== 'docker') return { isThere: false, rows: [] };
  const { network, user, mounts, volumes, limits, logs } = plan;
  const mountTexts = mounts.map(
    ({ source, target, readOnly }) =>
      `${source} at ${target}${readOnly ? ', read-only' : ', writable'}`,
  );
  return {
    isThere: true,
    rows: [
      ['Network', network === 'none' ? 'none' : 'bridge: the internet, and no other server'],
      ['User', user ?? 'unprivileged: that of the image unless it is root, else 65532'],
      ['Memory', `${Math.round(limits.memoryBytes / 2 ** 20)} MiB, no swap`],
      ['CPUs', String(limits.cpus)],
      ['Processes', `${limits.pids} at most`],
      ['Root file system', 'read-only; /tmp and the home folder are in memory'],
      ['Capabilities', 'none, and no way to gain any'],
      ['Mounts', mountTexts.join('\n') || 'none'],
      ['Volumes', volumes.map(({ name, target }) => `${name} at ${target}`).join('\n') || 'none'],
      ['Log of the engine', logs === 'none' ? 'none' : 'limited'],
    ],
  };
}
