import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const folder = import.meta.dirname;
/** Folder into which the first run installs the packages of serve.py; ignored by Git. */
const environment = join(folder, '.venv');
const installed = join(environment, 'installed');

/** Name of the model that serve.py serves. */
export const servedModel = 'all-minilm:l6-v2';

/** Starts serve.py on a free loopback port, and installs its packages before the first run. Rejects if either fails. */
export async function serveEmbeddings(): Promise<AsyncDisposable & { readonly url: string }> {
  if (!existsSync(installed)) await install();
  const server = spawn(join(environment, 'bin/python'), [join(folder, 'serve.py')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url]: unknown[] = await Promise.race([
    once(createInterface(server.stdout), 'line'),
    once(server, 'exit').then(() => []),
  ]);
  if (typeof url !== 'string') throw new Error('serve.py ended before it served');
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.kill();
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    },
  };
}

async function install(): Promise<void> {
  const run = promisify(execFile);
  const pip = [join(environment, 'bin/pip'), 'install', '--quiet', '--no-deps', '-r'] as const;
  await run('python3', ['-m', 'venv', '--clear', environment]);
  await run(pip[0], [...pip.slice(1), join(folder, 'requirements.txt')]);
  await run('touch', [installed]);
}
