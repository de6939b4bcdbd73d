import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The programs that `scripts/build-images.mjs` makes of sources. A clone has them only after a build. */
const built: ReadonlySet<string> = new Set(['agent', 'ollama-mcp']);

/** Returns why a program of the hub cannot run, with the remedy: it was not built. Undefined if it can. */
export function whyNotBuilt(imagesDir: string, name: string): string | undefined {
  const file = join(imagesDir, name, `${name}.mjs`);
  if (!built.has(name) || existsSync(file)) return undefined;
  return `${file} was not built. Run "node scripts/prepare.mjs" in ${dirname(imagesDir)}`;
}
