#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

const requiredNodeMajor = 24;

if (Number(process.version.slice(1).split('.')[0]) < requiredNodeMajor) {
  // A clone contains a Node in node_modules, so a link to this file on the PATH works with any Node on the machine.
  const own = join(import.meta.dirname, '..', 'node_modules', 'node', 'bin', 'node');
  if (existsSync(own)) {
    const child = spawn(own, [import.meta.filename, ...process.argv.slice(2)], {
      stdio: 'inherit',
    });
    // A terminal sends its signals to both processes.
    for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    const [code] = await once(child, 'exit');
    process.exit(code ?? 1);
  }
  process.stderr.write(
    `AgentHub needs Node ${requiredNodeMajor} or newer, but ${process.version} runs it. Install one from ` +
      'https://nodejs.org, or run AgentHub from a clone by npm start, which brings its own.\n',
  );
  process.exit(1);
}

try {
  // With an empty HOME, the user's folders would be in the working folder.
  if (process.env.HOME === '') process.env.HOME = userInfo().homedir;
  homedir();
} catch {
  // The message of the system names neither the variable nor the user.
  process.stderr.write(
    `HOME is not set, and the user with number ${process.getuid?.()} has no home folder. Set HOME to a folder of this user.\n`,
  );
  process.exit(1);
}

// The compile cache contains the modules compiled and without types: a start from it takes half the time and 25 MB
// less memory, because the type stripper is not loaded. The cache must be enabled before the first import.
const root = join(import.meta.dirname, '..');
const { FAILED } = module.constants.compileCacheStatus;
const { status } = module.enableCompileCache(join(root, 'node_modules', '.cache', 'agenthub'));
// If another user installed the package, its folder is not writable: the cache is in the user's own folder. In a
// shared folder, such as that of temporary files, others could place code in the cache.
if (status === FAILED)
  module.enableCompileCache(
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'agenthub'),
  );

// A clone runs its build in dist/ until a source is edited. The npm package has no sources, as Node strips no types
// under node_modules.
const isClone = existsSync(join(root, 'hub', 'main.ts'));
const isBuilt = !isClone || (await import('./build.mjs')).findBuild(root) !== undefined;
await import(isBuilt ? '../dist/main.js' : '../hub/main.ts');
