import { resolve } from 'node:path';
import type { PackageSpec, Sandbox } from './config.ts';
import { nameOfPackage } from './package-spec.ts';

/** Where a server is about to run. */
export type PackagePlace =
  | { readonly kind: 'docker'; readonly server: string }
  | {
      readonly kind: 'process';
      /** A folder of this server's own, which the caller makes. */
      readonly dataDir: string;
    };

type PackagePaths = {
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: Sandbox['volumes'];
};

/** The variable by which a package that else writes beside its own code is told where to write. */
const dataFiles = new Map([
  ['@modelcontextprotocol/server-memory', { variable: 'MEMORY_FILE_PATH', file: 'memory.jsonl' }],
]);

/**
 * What a package needs to keep its data: its own code is read-only in a container, and is thrown
 * away with the installer's cache as a process. What the entry itself sets goes before this.
 */
export function pathsOfKnownPackage(source: PackageSpec, place: PackagePlace): PackagePaths {
  const known = source.ecosystem === 'npm' ? dataFiles.get(nameOfPackage(source)) : undefined;
  if (!known) return { env: {}, volumes: [] };
  const { variable, file } = known;
  // A relative path would start at the package's code.
  return place.kind === 'process'
    ? { env: { [variable]: resolve(place.dataDir, file) }, volumes: [] }
    : {
        env: { [variable]: `/data/${file}` },
        volumes: [{ name: `${place.server}-data`, target: '/data' }],
      };
}
