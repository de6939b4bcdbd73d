// Compiles the hub into the cache that bin/agenthub.mjs starts it from. What is loaded with its first use, such as
// all that an install needs, would else be compiled then, and keep every client waiting meanwhile.
import { globSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.dirname(import.meta.dirname);
module.enableCompileCache(path.join(root, 'node_modules', '.cache', 'agenthub'));

const entry = path.join('hub', 'main.ts');
for (const file of globSync('hub/**/*.ts', { cwd: root }))
  if (file !== entry) await import(pathToFileURL(path.join(root, file)).href);
module.flushCompileCache();
