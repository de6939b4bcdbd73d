import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives all hubs and commands that this process starts a temporary folder in the place of the folders of the user who runs
 * it, whose hub and files they must neither find nor change. Returns what removes it.
 */
export function useOwnHome(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-home-'));
  process.env['AGENTHUB_HOME'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
