import type { ServerConfig } from '#config';
import type { SandboxView } from '#dashboard';
import { planLaunch, runtimeOf } from '#servers';
import type { Engine } from '../routes/health.ts';
import { addressOf } from './entry.ts';

/** Placeholder: the paths of data folders are not shown. */
const nowhere = '/';

/** The effective sandbox of a server. */
export function sandboxOf(config: ServerConfig, engine: Pick<Engine, 'backend'>): SandboxView {
  const { launch } = config;
  if (launch.kind === 'remote')
    return {
      isThere: true,
      rows: [
        ['Runs', 'elsewhere: the hub only speaks to it'],
        ['Address', addressOf(launch.url)],
      ],
    };
  const place = { auto: engine.backend, dataDir: nowhere };
  // No plan: the command has no image, so the server cannot run.
  const plan =
    runtimeOf(launch, engine.backend) === 'docker' && launch.image === undefined && !launch.package
      ? undefined
      : planLaunch(config, place).target;
  if (plan?.kind !== 'docker') return { isThere: false, rows: [] };
  const { network, user, mounts, volumes, limits, logs } = plan;
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
      ['Mounts', mounts.map(mountText).join('\n') || 'none'],
      ['Volumes', volumes.map(({ name, target }) => `${name} at ${target}`).join('\n') || 'none'],
      ['Log of the engine', logs === 'none' ? 'none' : 'limited'],
    ],
  };
}

const mountText = ({
  source,
  target,
  readOnly,
}: {
  source: string;
  target: string;
  readOnly: boolean;
}) => `${source} at ${target}${readOnly ? ', read-only' : ', writable'}`;
