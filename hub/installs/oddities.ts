import { isObject } from '#core';
import type { Argument, ServerPackage } from './server-json.ts';

/** Programs that run packages, by type of registry. */
const runners: Readonly<Record<string, readonly string[]>> = {
  npm: ['npx', 'bunx', 'bun', 'pnpm', 'pnpx', 'yarn', 'npm', 'node'],
  pypi: ['uvx', 'uv', 'pipx', 'pip', 'python', 'python3'],
  oci: ['docker', 'podman', 'nerdctl'],
};

/** Options of `docker run` for folders of the machine, networks and variables. */
export const dockerOptions: Readonly<
  Record<'mounts' | 'network' | 'variables', readonly string[]>
> = {
  mounts: ['--mount', '-v', '--volume'],
  network: ['--network', '--net'],
  variables: ['-e', '--env'],
};

/** Returns the option in an argument for the runtime of a package, such as `--mount`. */
export const optionIn = ({ type, name, value }: Argument): string =>
  (type === 'named' ? name : value) ?? '';

/**
 * Returns why a package of a server.json is refused whatever the user says: control characters, a runner of another
 * ecosystem, a host folder chosen by the publisher, or an image without a version. Undefined if none applies.
 */
export function oddityOf(one: ServerPackage): string | undefined {
  const { registryType, runtimeHint, runtimeArguments = [], identifier, version } = one;
  const place = controlIn(one, []);
  if (place !== undefined) return `its ${place} has control characters`;
  const programs = runners[registryType] ?? [];
  if (runtimeHint !== undefined && !programs.includes(runtimeHint))
    return `its runtimeHint is ${JSON.stringify(runtimeHint.slice(0, 60))}, which does not run packages of ${registryType}`;
  const folder = runtimeArguments.map(folderIn).find(found => found !== undefined);
  if (folder !== undefined)
    return `it wants the folder ${JSON.stringify(folder.slice(0, 200))} of this machine, which its publisher chose`;
  if (registryType === 'oci' && !hasVersion(identifier, version))
    return 'its image has no version, so what runs could change without a change of the config';
  return undefined;
}

function hasVersion(identifier: string, version: string | undefined): boolean {
  const tag = /:([^:/@]+)$/.exec(identifier)?.[1] ?? version;
  return identifier.includes('@sha256:') || (tag !== undefined && tag !== 'latest');
}

/** Returns the host folder in an option of `docker run`; undefined if there is none, or the user chooses it. */
function folderIn(argument: Argument): string | undefined {
  const [, own, inline = ''] = /^(--?[\w-]+)(?:[= ](.*))?$/s.exec(optionIn(argument)) ?? [];
  if (own === undefined || !dockerOptions.mounts.includes(own)) return undefined;
  const { type, value = '' } = argument;
  const text = type === 'named' && inline === '' ? value : inline;
  const source = /(?:^|,)(?:src|source)=([^,]*)/.exec(text)?.[1] ?? text.split(':')[0] ?? '';
  return /^[/~.$\\]|^[a-z]:\\/i.test(source) ? source : undefined;
}

/** Matches control characters, invisible characters, and characters that change the text direction. */
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** Members with texts for people, which may have control characters: they are removed for display. */
const described = new Set(['description', 'placeholder', 'title']);
const maxDepth = 12;

/** Returns the path of the first text with control or bidirectional characters. */
function controlIn(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value === 'string') return control.test(value) ? path.join('.') : undefined;
  if (path.length > maxDepth) return path.join('.');
  if (Array.isArray(value))
    return value.map((item, at) => controlIn(item, [...path, String(at)])).find(isFound);
  if (!isObject(value)) return undefined;
  return Object.entries(value)
    .filter(([key]) => !described.has(key))
    .map(([key, inside]) =>
      control.test(key) ? path.join('.') : controlIn(inside, [...path, key]),
    )
    .find(isFound);
}

const isFound = (found: string | undefined) => found !== undefined;

/** Like `oddityOf`, for the address of a remote server. */
export function oddityOfRemote(remote: object): string | undefined {
  const place = controlIn(remote, []);
  return place === undefined ? undefined : `its ${place} has control characters`;
}
