import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineRequired, probeEngine } from './engine-probe.ts';
import { bundleEraServers } from './era-servers.ts';
import { useOwnHome } from './own-home.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Runs once before all tests. Keeps the tests out of the user's folders, and prints which tests will be skipped and
 * why, so that their absence is seen. Returns the cleanup that runs after all tests.
 */
export default async function setup(): Promise<() => void> {
  const leave = useOwnHome();
  // Folder of Node's compile cache, for the test processes and those that they start. Hubs of users have one too.
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'tests');
  // Hubs of tests must not find an Ollama that runs on this machine.
  process.env['OLLAMA_HOST'] ??= 'off';
  if (process.env['AGENTHUB_TEST_ENGINE'] === 'up') bringUpEngine();
  await bundleEraServers();
  await nameSkipped();
  return leave;
}

/** Starts a Docker engine for the tests. Waits if another process is starting it, and returns at once if it runs. */
function bringUpEngine(): void {
  const script = join(root, 'tests', 'engine', 'up');
  execFileSync(script, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function nameSkipped(): Promise<void> {
  const problem = await probeEngine();
  if (problem === undefined) return;
  if (engineRequired) {
    process.stderr.write(`AGENTHUB_REQUIRE_ENGINE=1, but ${problem}: what needs it will fail.\n`);
    return;
  }
  const skipped = globSync('tests/**/*.test.ts').filter(file =>
    /describeWith(Engine|Redis|Browser)\(/.test(readFileSync(file, 'utf8')),
  );
  process.stderr.write(
    `Skipped, as ${problem} (tests/engine/up brings one up on Debian 12):\n` +
      skipped
        .toSorted()
        .map(file => `  what needs Docker in ${file}\n`)
        .join(''),
  );
}
