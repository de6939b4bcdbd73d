// Compiles the hub (its build, otherwise its sources) into the compile cache that bin/agenthub.mjs uses. Otherwise
// modules that are loaded on first use, such as those of an install, would be compiled while all clients wait.
import { existsSync, globSync, readdirSync, rmSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBuild } from '../bin/build.mjs';

const root = path.dirname(import.meta.dirname);
const cache = path.join(root, 'node_modules', '.cache', 'agenthub');
/**
 * Maximum number of files in the cache before it is cleared. A hub has 800; files of earlier builds stay until then.
 */
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
