import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const sources = join(root, 'tests', 'fixtures', 'eras');
const bundles = join(root, 'node_modules', '.cache', 'era-servers');

/** Returns the path of the bundle of a server in tests/fixtures/eras. */
export const eraServer = (file: string): string => join(bundles, basename(file));

/**
 * Bundles each server of tests/fixtures/eras with its SDK into one file, unless the bundles are newer than their
 * sources. Tests start these servers often, and Node needs about half the CPU time to start a bundle.
 */
export async function bundleEraServers(): Promise<void> {
  const servers = globSync('{server,schemas}-*.mjs', { cwd: sources });
  const newest = Math.max(
    ...[...globSync(join(sources, '*.mjs')), join(root, 'package-lock.json')].map(timeOf),
  );
  if (servers.every(name => timeOf(eraServer(name)) > newest)) return;
  const { build } = await import('rolldown');
  mkdirSync(bundles, { recursive: true });
  const folder = mkdtempSync(join(bundles, 'draft-'));
  try {
    for (const name of servers) {
      const output = { file: join(folder, name), codeSplitting: false };
      await build({ input: join(sources, name), platform: 'node', tsconfig: false, output });
      // Replaces the file at once, because another run of the tests may be using it.
      renameSync(output.file, eraServer(name));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the time of the last change in ms; 0 if there is no such file. */
const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
