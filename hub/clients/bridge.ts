import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isObject } from '#core';
import type { HubAddress } from './hub-entry.ts';

/** The program that runs. */
export type Program = {
  /** The absolute path of Node. */
  readonly node: string;
  /** The script that Node was started with. */
  readonly script: string;
  /** As `process.platform` says it. */
  readonly platform: string;
};

/**
 * How another program starts this one later: by absolute paths, as programs of the desktop have another search
 * path. What npx has put into its cache may be gone by then, so that npx is asked again.
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

/** The package that a person gave npx, where the script is in its cache; undefined for a folder or an archive. */
async function npxSpecOf(script: string): Promise<string | undefined> {
  const [, cache, key] = /^(.*[\\/]_npx)[\\/]([^\\/]+)[\\/]/.exec(script) ?? [];
  if (cache === undefined || key === undefined) return undefined;
  try {
    const manifest: unknown = JSON.parse(await readFile(join(cache, key, 'package.json'), 'utf8'));
    const npx = isObject(manifest) ? manifest['_npx'] : undefined;
    const packages = isObject(npx) ? npx['packages'] : undefined;
    const own = script.slice(join(cache, key, 'node_modules').length).split(sep)[1] ?? '';
    const specs = Array.isArray(packages) ? packages.map(String) : [];
    return specs.find(
      spec =>
        spec === own ||
        (/^[\w.+-]+$/.test(spec.slice(`${own}@`.length)) && spec.startsWith(`${own}@`)),
    );
  } catch {
    return undefined;
  }
}
