import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Sets AGENTHUB_HOME to a temporary folder for all hubs and commands that this process starts. They must neither find
 * nor change the hub and files of the user who runs the tests. Returns a function that removes the folder.
 */
export function useOwnHome(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-home-'));
  process.env['AGENTHUB_HOME'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
