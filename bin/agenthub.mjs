#!/usr/bin/env node
// The cache keeps the sources compiled and stripped of their types: a start from it takes half the
// time and 25 MB less, because the type stripper is never loaded. It must be on before the first import.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'agenthub'));
await import('../hub/main.ts');
