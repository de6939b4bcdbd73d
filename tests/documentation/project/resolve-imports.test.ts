import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { readManifests } from '../../../hub/documentation/project/manifests.ts';
import { createImportResolver } from '../../../hub/documentation/project/resolve-imports.ts';

const manifests = readManifests([
  {
    path: 'package.json',
    text: '{"name": "app", "imports": {"#*": "./hub/*/index.ts", "#one": {"default": "./lib/one.js"}}, "dependencies": {"fastify": "1"}}',
  },
  { path: 'packages/ui/package.json', text: '{"name": "@app/ui"}' },
  { path: 'go.mod', text: 'module example.org/app\n\nrequire (\n\texample.com/other v1.2.3\n)\n' },
  { path: 'pyproject.toml', text: '[project]\ndependencies = [\n  "requests>=2",\n]\n' },
  { path: 'Cargo.toml', text: '[dependencies]\nserde-json = "1"\n' },
  { path: 'broken/package.json', text: '{' },
]);
const resolve = createImportResolver(
  new Set([
    'hub/core/index.ts',
    'lib/one.js',
    'src/a/a.ts',
    'src/a/b.tsx',
    'src/c/index.js',
    'packages/ui/src/index.ts',
    'app/models/user.py',
    'app/models/__init__.py',
    'app/views.py',
    'internal/store/store.go',
    'main.go',
    'src/words/mod.rs',
    'src/lib.rs',
    'src/main/java/org/app/Store.java',
    'include/app/store.h',
    'src/Models/User.php',
    'lib/words.rb',
  ]),
  manifests,
);

test.each([
  ['TypeScript', 'src/a/x.ts', './b.js', 'src/a'],
  ['TypeScript', 'src/a/x.ts', '../c', 'src/c'],
  ['TypeScript', 'src/a/x.ts', '@/a/a', 'src/a'],
  ['TypeScript', 'src/a/x.ts', '#core', 'hub/core'],
  ['TypeScript', 'src/a/x.ts', '#one', 'lib'],
  ['TypeScript', 'src/a/x.ts', '#none', undefined],
  ['TypeScript', 'src/a/x.ts', '@app/ui', 'packages/ui/src'],
  ['TypeScript', 'src/a/x.ts', 'node:fs', undefined],
  ['TypeScript', 'src/a/x.ts', 'fs', undefined],
  ['TypeScript', 'src/a/x.ts', 'fastify/types', 'package fastify'],
  ['TypeScript', 'src/a/x.ts', '../../../outside', undefined],
  ['Python', 'app/views.py', 'app.models.user', 'app/models'],
  ['Python', 'app/views.py', '.models', 'app/models'],
  ['Python', 'app/models/user.py', '..views', 'app'],
  ['Python', 'app/views.py', 'requests.auth', 'package requests'],
  ['Python', 'app/views.py', 'os', undefined],
  ['Go', 'main.go', 'example.org/app/internal/store', 'internal/store'],
  ['Go', 'main.go', 'example.com/other/sub', 'package example.com/other'],
  ['Go', 'main.go', 'fmt', undefined],
  ['Rust', 'src/lib.rs', 'crate::words::count', 'src/words'],
  ['Rust', 'src/lib.rs', 'serde_json::Value', 'package serde_json'],
  ['Java', 'src/main/java/org/app/Main.java', 'org.app.Store', 'src/main/java/org/app'],
  ['C', 'src/a.c', 'app/store.h', 'include/app'],
  ['PHP', 'public/index.php', 'App\\Models\\User', 'src/Models'],
  ['Ruby', 'bin/x.rb', 'words', 'lib'],
])('%s in %s: %s is resolved to %s', (language, path, specifier, expected) => {
  const found = resolve({ path, language }, specifier);
  const name = found?.kind === 'package' ? `package ${found.name}` : found?.folder;
  assert.equal(name, expected);
});

test('the imports of a repository with thousands of packages are resolved in linear time', () => {
  const count = 2_000;
  const packages = Array.from({ length: count }, (_, at) => ({
    path: `packages/p${at}/package.json`,
    text: `{"name": "@org/p${at}", "imports": {"#*": "./src/*.ts"}}`,
  }));
  const goMod = Array.from({ length: count }, (_, at) => `\texample.com/d${at} v1`).join('\n');
  const files = Array.from({ length: count }, (_, at) => `packages/p${at}/src/a.ts`);
  const many = createImportResolver(
    new Set(files),
    readManifests([...packages, { path: 'go.mod', text: `module x.org/y\n${goMod}\n` }]),
  );
  const cpuMs = startCpuTimer();
  for (const path of files)
    for (let at = 0; at < 10; at++) {
      many({ path, language: 'TypeScript' }, `@org/p${count - 1}/x`);
      many({ path, language: 'TypeScript' }, '#a');
      many({ path, language: 'Go' }, 'fmt');
    }
  assert.ok(cpuMs() < 4_000, 'each import searched all packages');
});
