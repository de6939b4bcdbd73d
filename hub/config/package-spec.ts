import { resolve } from 'node:path';
import type { Sandbox } from './sandbox.ts';

/** A package that is installed in the image of a server. */
export type PackageSpec = {
  readonly ecosystem: 'npm' | 'pypi';
  /** Name and version as the installer expects them: `@scope/name@1.2.3`, `name==1.2.3`, or only the name. */
  readonly spec: string;
  readonly with?: readonly string[];
  /** Python version, such as `3.12`. If absent, that of the hub's base image. */
  readonly python?: string;
};

/** Servers that are part of the hub, by their folders in `images/`. */
const ownServers = ['ollama-mcp'] as const;
export type OwnServer = (typeof ownServers)[number];

// Specs are passed to an installer's command line. The patterns of names and versions therefore exclude options, paths,
// URLs, git references, archives and shell syntax.
const npmSpec =
  /^((?:@[a-z0-9][\w.-]{0,100}\/)?[a-z0-9][\w.-]{0,213})(?:@([a-z0-9][\w.+-]{0,99}))?$/i;
const pypiSpec = /^([a-z0-9](?:[\w.-]{0,98}[a-z0-9])?)(?:(?:==|@)([a-z0-9][\w.+!-]{0,99}))?$/i;
/**
 * Pattern of an additional package, which may have a version range and extras, as it is resolved with the main package.
 */
const pypiExtra =
  /^[a-z0-9](?:[\w.-]{0,98}[a-z0-9])?(?:\[[\w,.-]{1,100}\])?(?:(?:==|>=|<=|~=|!=|<|>)[a-z0-9][\w.+!*-]{0,99})?$/i;
const archive = /\.(?:tgz|tar|gz|zip|whl)$/i;
const imageReference =
  /^[a-z0-9][a-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)*(?::[\w][\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/i;

/**
 * Parses `@org/server@1.2.3`, `uvx:name==1.0`, `docker:name:tag`, or `agenthub:name` for a server that is part of the
 * hub; returns undefined for anything else.
 */
export function findPackage(written: string) {
  const [, registry, name = ''] = /^(docker|uvx|agenthub):([^]*)$/.exec(written) ?? [];
  if (registry === 'agenthub') {
    const own = ownServers.find(one => one === name);
    return own && ({ kind: 'own', own } as const);
  }
  if (registry === 'docker')
    return isImage(name) ? ({ kind: 'image', image: name } as const) : undefined;
  const found = registry === 'uvx' ? pypiPackage(name) : npmPackage(written);
  return found && ({ kind: 'package', package: found } as const);
}

/** True for an image reference: `name`, `host:5000/path/name:tag`, `name@sha256:...`. */
export const isImage = (text: string) => imageReference.test(text);

/** Returns the package's name without its version. */
export const nameOfPackage = ({ ecosystem, spec }: PackageSpec) =>
  (ecosystem === 'npm' ? npmSpec : pypiSpec).exec(spec)?.[1] ?? spec;

/** Returns an additional package in its installer's syntax; undefined if it is invalid. */
export function findExtra(
  ecosystem: PackageSpec['ecosystem'],
  written: string,
): string | undefined {
  if (ecosystem === 'npm') return npmPackage(written)?.spec;
  return pypiExtra.test(written) && !archive.test(written) ? written : pypiPackage(written)?.spec;
}

export function npmPackage(spec: string): PackageSpec | undefined {
  return npmSpec.test(spec) && !archive.test(spec) ? { ecosystem: 'npm', spec } : undefined;
}

export function pypiPackage(written: string): PackageSpec | undefined {
  const [, name, version] = pypiSpec.exec(written) ?? [];
  if (name === undefined || archive.test(written)) return undefined;
  // uvx writes `name@latest` for the newest version, pip a name without a version.
  const pinned = version !== undefined && version !== 'latest';
  return { ecosystem: 'pypi', spec: pinned ? `${name}==${version}` : name };
}

/** Where a package runs. `dataDir` is the data folder of a server that runs as a process; the caller creates it. */
type PackagePlace =
  | { readonly kind: 'docker'; readonly server: string }
  | { readonly kind: 'process'; readonly dataDir: string };

/** Packages that by default write files next to their own code, with the variable that sets the path. */
const dataFiles = new Map([
  ['@modelcontextprotocol/server-memory', { variable: 'MEMORY_FILE_PATH', file: 'memory.jsonl' }],
]);

/**
 * Returns the environment and volumes that a package needs to keep its data. In a container the folder of its code is
 * read-only; for a process it is in the installer's cache, which is deleted. Values in the entry take precedence.
 */
export function pathsOfKnownPackage(
  source: PackageSpec,
  place: PackagePlace,
): Pick<Sandbox, 'volumes'> & { readonly env: Readonly<Record<string, string>> } {
  const known = source.ecosystem === 'npm' ? dataFiles.get(nameOfPackage(source)) : undefined;
  if (!known) return { env: {}, volumes: [] };
  const { variable, file } = known;
  // An absolute path, because the package resolves relative ones against the folder of its code.
  return place.kind === 'process'
    ? { env: { [variable]: resolve(place.dataDir, file) }, volumes: [] }
    : {
        env: { [variable]: `/data/${file}` },
        volumes: [{ name: `${place.server}-data`, target: '/data' }],
      };
}

/** Returns the volumes for the data of a package; none for an unknown package. */
export const volumesOfPackage = (source: PackageSpec | undefined, server: string) =>
  source ? pathsOfKnownPackage(source, { kind: 'docker', server }).volumes : [];
