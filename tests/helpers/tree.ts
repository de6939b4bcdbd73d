import { cp, mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const parts = [
  'bin',
  'configs',
  'hub',
  'images/agent/source',
  'images/ollama-mcp/source',
  'scripts',
  'package.json',
  'package-lock.json',
];
/** File in which npm records what it has installed. */
const lock = '.package-lock.json';

/**
 * Copies the files from which the hub is built and run into a new folder, whose name has characters of patterns. The copy
 * links to each package of this repository, so that an `npm ci` in the copy would remove links only.
 */
export async function copyTree(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub tree [é] '));
  for (const part of parts) await cp(join(root, part), join(folder, part), { recursive: true });
  const packages = join(root, 'node_modules');
  const links = join(folder, 'node_modules');
  await mkdir(links);
  // npm would write this file through a link.
  await cp(join(packages, lock), join(links, lock));
  for (const name of await readdir(packages))
    if (![lock, '.cache'].includes(name)) await symlink(join(packages, name), join(links, name));
  return folder;
}
