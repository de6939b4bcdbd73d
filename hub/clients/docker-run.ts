import { filled } from './filled.ts';

/** The parts of a `docker run` command line that the hub's config can express. */
export type DockerRun = NonNullable<ReturnType<typeof readDockerRun>>;

/** Options without a value, which are ignored: the hub decides all of them itself. */
const switches = new Set(['--interactive', '--rm', '--tty', '--init', '--read-only']);
const letters = /^-[it]+$/;
/** Long names of options, by their short or alternative names. */
const longNames = new Map([
  ['-e', '--env'],
  ['-v', '--volume'],
  ['-u', '--user'],
  ['-w', '--workdir'],
  ['--net', '--network'],
  ['-m', '--memory'],
]);
/**
 * Options that are ignored, because the hub gives each container a name, limits and a sandbox of its own, and publishes
 * no ports.
 */
const withoutEffect = new Set(
  '--name --pull --label -l --hostname -h --log-driver --stop-timeout --pids-limit --cap-drop --publish -p'.split(
    ' ',
  ),
);

/** Options whose last value counts. */
const kept = new Set('--network --user --workdir --entrypoint --memory --cpus'.split(' '));

/** Reads the arguments of `docker run`. Returns undefined if the hub's config cannot express them. */
export function readDockerRun([verb, ...rest]: readonly string[]) {
  if (verb !== 'run') return undefined;
  /** Values of `-e NAME=value`, by name; the names of `-e NAME` are in `passedThrough`. */
  const env: Record<string, string> = {};
  const passedThrough: string[] = [];
  const mounts: string[] = [];
  const volumes: Record<string, string> = {};
  const single = new Map<string, string>();
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? '';
    if (!word.startsWith('-')) {
      const network = single.get('--network');
      if (network !== undefined && !['none', 'bridge', 'host', 'default'].includes(network))
        return undefined;
      return {
        image: word,
        args: rest.slice(at + 1),
        env,
        passedThrough,
        mounts,
        volumes,
        network: network === undefined ? undefined : network === 'none' ? 'none' : 'bridge',
        user: single.get('--user'),
        cwd: single.get('--workdir'),
        command: single.get('--entrypoint'),
        ...limitsOf(single),
      };
    }
    if (switches.has(word) || letters.test(word)) continue;
    const { name, value = rest[++at] ?? '' } = optionOf(word);
    if (withoutEffect.has(name)) continue;
    if (name === '--env') {
      const [, variable = '', set] = /^([^=]*)(?:=([^]*))?$/.exec(value) ?? [];
      if (set === undefined) passedThrough.push(variable);
      else env[variable] = set;
    } else if (name === '--volume' || name === '--mount') {
      const mount = name === '--volume' ? volumeOf(value) : mountOf(value);
      // Volumes in the hub's config are always writable, and each has one target.
      if (!mount || (!mount.isFolder && (mount.readOnly || Object.hasOwn(volumes, mount.source))))
        return undefined;
      if (mount.isFolder)
        mounts.push(`${mount.source}:${mount.target}:${mount.readOnly ? 'ro' : 'rw'}`);
      else volumes[mount.source] = mount.target;
    } else if (kept.has(name)) single.set(name, value);
    else return undefined;
  }
  return undefined;
}

function limitsOf(single: ReadonlyMap<string, string>) {
  const cpus = Number(single.get('--cpus'));
  const resources = filled({
    memory: single.get('--memory'),
    cpus: Number.isFinite(cpus) ? cpus : undefined,
  });
  return Object.keys(resources).length > 0 ? { resources } : {};
}

/** Reads an option in the forms `--env=X`, `-eX`, `--env` and `-e`. */
function optionOf(word: string) {
  const [, written = word, value] =
    /^(--[^=]+)=([^]*)$/.exec(word) ?? /^(-[a-z])(.+)$/s.exec(word) ?? [];
  return { name: longNames.get(written) ?? written, value };
}

function volumeOf(text: string) {
  const [, source, target, mode] =
    /^((?:[A-Za-z]:)?[^:]+):(\/[^:]*)(?::(ro|rw|z|Z))?$/.exec(text) ?? [];
  if (source === undefined || target === undefined) return undefined;
  return { source, target, readOnly: mode === 'ro', isFolder: /[\\/~.]/.test(source) };
}

function mountOf(text: string) {
  const fields = new Map(
    text.split(',').map(part => {
      const [key = '', ...value] = part.split('=');
      return [key, value.join('=')] as const;
    }),
  );
  const of = (...keys: readonly string[]) => keys.map(key => fields.get(key)).find(Boolean);
  const source = of('source', 'src');
  const target = of('target', 'dst', 'destination');
  if (source === undefined || target === undefined) return undefined;
  const readOnly = ['readonly', 'ro'].some(key =>
    ['', 'true', '1'].includes(fields.get(key) ?? 'no'),
  );
  return { source, target, readOnly, isFolder: fields.get('type') === 'bind' };
}
