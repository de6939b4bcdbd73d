// Compiles the hub into the cache that bin/agenthub.mjs starts it from: what was built, and without that the sources.
// What is loaded with its first use, such as all that an install needs, would else be compiled then, and keep every
// client waiting meanwhile.
import { existsSync, globSync, readdirSync, rmSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBuild } from '../bin/build.mjs';

const root = path.dirname(import.meta.dirname);
const cache = path.join(root, 'node_modules', '.cache', 'agenthub');
/** Of a hub in 550 files with 250 of packages. Those of other names, as of builds before, would be kept for ever. */
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
