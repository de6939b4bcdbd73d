/** The parts of a `docker run` command line that the hub's config can express. */
export type DockerRun = {
  readonly image: string;
  readonly args: readonly string[];
  /** Variables that the command sets, and names of those it passes through from its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly passedThrough: readonly string[];
  readonly mounts: readonly string[];
  readonly volumes: Readonly<Record<string, string>>;
  readonly network: 'none' | 'bridge' | undefined;
  readonly user: string | undefined;
  readonly cwd: string | undefined;
  readonly command: string | undefined;
};

/** Options without a value. The hub handles all of them in its own way. */
const switches = new Set(['--interactive', '--rm', '--tty', '--init', '--read-only']);
const letters = /^-[it]+$/;
/** Short option names, and options without a lasting effect. */
const longNames = new Map([
  ['-e', '--env'],
  ['-v', '--volume'],
  ['-u', '--user'],
  ['-w', '--workdir'],
  ['--net', '--network'],
]);
const withoutEffect = new Set(['--name', '--pull', '--label', '-l']);

/** Reads the arguments of `docker`. Returns undefined if the hub's config cannot express them. */
export function readDockerRun([verb, ...rest]: readonly string[]): DockerRun | undefined {
  if (verb !== 'run') return undefined;
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
      if (!mount) return undefined;
      if (mount.isFolder)
        mounts.push(`${mount.source}:${mount.target}:${mount.readOnly ? 'ro' : 'rw'}`);
      else volumes[mount.source] = mount.target;
    } else if (['--network', '--user', '--workdir', '--entrypoint'].includes(name))
      single.set(name, value);
    else return undefined;
  }
  return undefined;
}

/** Reads an option in the forms `--env=X`, `-eX`, `--env` and `-e`. */
function optionOf(word: string): { readonly name: string; readonly value?: string | undefined } {
  const [, written = word, value] =
    /^(--[^=]+)=([^]*)$/.exec(word) ?? /^(-[a-z])(.+)$/s.exec(word) ?? [];
  const name = longNames.get(written) ?? written;
  return value === undefined ? { name } : { name, value };
}

type Mount = {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly isFolder: boolean;
};

function volumeOf(text: string): Mount | undefined {
  const [, source, target, mode] =
    /^((?:[A-Za-z]:)?[^:]+):(\/[^:]*)(?::(ro|rw|z|Z))?$/.exec(text) ?? [];
  if (source === undefined || target === undefined) return undefined;
  return { source, target, readOnly: mode === 'ro', isFolder: /[\\/~.]/.test(source) };
}

function mountOf(text: string): Mount | undefined {
  const said = new Map(
    text.split(',').map(part => {
      const [key = '', ...value] = part.split('=');
      return [key, value.join('=')] as const;
    }),
  );
  const of = (...keys: readonly string[]) => keys.map(key => said.get(key)).find(Boolean);
  const source = of('source', 'src');
  const target = of('target', 'dst', 'destination');
  if (source === undefined || target === undefined) return undefined;
  const readOnly = ['readonly', 'ro'].some(key =>
    ['', 'true', '1'].includes(said.get(key) ?? 'no'),
  );
  return { source, target, readOnly, isFolder: said.get('type') === 'bind' };
}
