// Compiles the hub into the cache from which bin/agenthub.mjs starts it: the build, or without one the sources. Modules
// that are loaded on first use, such as those of an install, would otherwise be compiled at that moment, while all
// clients wait.
import { existsSync, globSync, readdirSync, rmSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBuild } from '../bin/build.mjs';

const root = path.dirname(import.meta.dirname);
const cache = path.join(root, 'node_modules', '.cache', 'agenthub');
/** Maximum number of files in the cache before it is cleared. A hub has 800; those of earlier builds are never removed. */
const maxCached = 5_000;

if (existsSync(cache) && readdirSync(cache, { recursive: true }).length > maxCached)
  rmSync(cache, { recursive: true, force: true });
module.enableCompileCache(cache);

const build = findBuild(root);
const [folder, files, entry] = build
  ? ['dist', Object.keys(build.output).filter(name => /^[^/]+\.js$/.test(name)), 'main.js']
  : ['hub', globSync('**/*.ts', { cwd: path.join(root, 'hub') }), 'main.ts'];
for (const file of files)
  if (file !== entry) await import(pathToFileURL(path.join(root, folder, file)).href);
module.flushCompileCache();
