import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Path of a new folder, which is removed after the test that calls this. */
export function makeTempFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `agenthub-${name}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
