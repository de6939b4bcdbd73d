import { resolve } from 'node:path';
import type { LocalLaunch, PackageSpec, Sandbox } from './config.ts';
import { nameOfPackage } from './package-spec.ts';

/** `dataDir`: the data folder of a server that runs as a process. The caller creates it. */
type PackagePlace =
  | { readonly kind: 'docker'; readonly server: string }
  | { readonly kind: 'process'; readonly dataDir: string };

/** Packages that by default write next to their own code, and the variable that sets another file. */
const dataFiles = new Map([
  ['@modelcontextprotocol/server-memory', { variable: 'MEMORY_FILE_PATH', file: 'memory.jsonl' }],
]);

/**
 * Environment and volumes that a package needs to keep its data. Its own folder is read-only in a container; as a
 * process, the installer's cache is deleted. Values in the entry take precedence.
 */
export function pathsOfKnownPackage(
  source: PackageSpec,
  place: PackagePlace,
): Pick<LocalLaunch, 'env'> & Pick<Sandbox, 'volumes'> {
  const known = source.ecosystem === 'npm' ? dataFiles.get(nameOfPackage(source)) : undefined;
  if (!known) return { env: {}, volumes: [] };
  const { variable, file } = known;
  // The package resolves a relative path against its own folder.
  return place.kind === 'process'
    ? { env: { [variable]: resolve(place.dataDir, file) }, volumes: [] }
    : {
        env: { [variable]: `/data/${file}` },
        volumes: [{ name: `${place.server}-data`, target: '/data' }],
      };
}
