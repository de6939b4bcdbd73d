import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isObject } from '#core';
import type { HubAddress } from './hub-entry.ts';

/** How the current process was started. */
export type Program = {
  /** The absolute path of Node. */
  readonly node: string;
  /** The script that Node runs. */
  readonly script: string;
  /** A value of `process.platform`. */
  readonly platform: string;
};

/**
 * The command with which a client starts this program later. It uses absolute paths, because desktop programs
 * have another search path. A program that npx runs from its cache is started through npx again, because npx
 * may clear the cache.
 */
export async function findBridge({
  node,
  script,
  platform,
}: Program): Promise<HubAddress['bridge']> {
  const real = await realpath(script);
  const spec = await npxSpecOf(real);
  if (spec === undefined) return { command: node, args: [real] };
  const args = ['-y', spec];
  return platform === 'win32'
    ? { command: 'cmd', args: ['/c', 'npx', ...args] }
    : { command: 'npx', args };
}

/**
 * The package spec that the user gave to npx, if the script is in the npx cache. Undefined if it is not, or if
 * the spec is a folder or an archive.
 */
async function npxSpecOf(script: string): Promise<string | undefined> {
  const [, cache, key] = /^(.*[\\/]_npx)[\\/]([^\\/]+)[\\/]/.exec(script) ?? [];
  if (cache === undefined || key === undefined) return undefined;
  try {
    const manifest: unknown = JSON.parse(await readFile(join(cache, key, 'package.json'), 'utf8'));
    const npx = isObject(manifest) ? manifest['_npx'] : undefined;
    const packages = isObject(npx) ? npx['packages'] : undefined;
    const packageName = script.slice(join(cache, key, 'node_modules').length).split(sep)[1] ?? '';
    const specs = Array.isArray(packages) ? packages.map(String) : [];
    return specs.find(
      spec =>
        spec === packageName ||
        (/^[\w.+-]+$/.test(spec.slice(`${packageName}@`.length)) &&
          spec.startsWith(`${packageName}@`)),
    );
  } catch {
    // Without a readable lock file the version is unknown.
    return undefined;
  }
}
