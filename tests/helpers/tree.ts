import { cp, mkdtemp, symlink } from 'node:fs/promises';
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

/**
 * Copies the files from which the hub is built and run into a new folder, whose name has characters of patterns. The copy
 * links to node_modules of this repository.
 */
export async function copyTree(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub tree [é] '));
  for (const part of parts) await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
