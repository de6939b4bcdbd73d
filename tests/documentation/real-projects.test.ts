import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { isLong } from '#helpers/length';
import { git } from '../repositories/harness.ts';
import { brokenLinks, checkCitations, createDocumentationScene, resultOf } from './harness.ts';

const root = join(import.meta.dirname, '../..');
/** Timeout of a test in ms. A large repository may take minutes on a busy machine. */
const timeoutMs = 180_000;

/** Documents a repository twice. Fails if links or citations are broken, or if the second run writes anything. */
async function documentTwice(repo: string, scene: ReturnType<typeof createDocumentationScene>) {
  const request = { repo_path: repo, project_name: 'project' };
  const owner = { kind: 'local', name: 'owner', grants: { administer: true } } as const;
  const result = resultOf(await scene.run(request, owner));
  const notes = scene.notes('project');
  assert.deepEqual(brokenLinks(notes), []);
  const { wrong, count } = checkCitations(repo, notes);
  assert.deepEqual(wrong, []);
  const again = resultOf(await scene.run(request, owner));
  assert.deepEqual([again['created'], again['replaced'], again['removed']], [0, 0, 0]);
  return { result, notes, count };
}

/** Excludes fastify's tests and documents, which take most of the time and test nothing that its code does not. */
const isCode = (source: string) => !/[\\/]node_modules[\\/]fastify[\\/](?:test|docs)$/.test(source);

test("fastify's package", { timeout: timeoutMs }, async () => {
  await using scene = createDocumentationScene();
  const repo = scene.create();
  cpSync(join(root, 'node_modules/fastify'), repo, {
    recursive: true,
    filter: source => isLong || isCode(source),
  });
  git(repo, 'add', '--all', '--force');
  git(repo, 'commit', '--quiet', '--message=fastify');
  const { notes, count } = await documentTwice(repo, scene);
  assert.ok(count > 200, `${count} citations`);
  const lib = notes.get('project - lib') ?? '';
  assert.match(
    lib,
    /`function buildErrorHandler \([^`]*` `lib\/error-handler\.js:\d+`|`function [^`]*`.* `lib\/[\w-]+\.js:\d+`/,
  );
  assert.match(
    notes.get('project - README') ?? '',
    /- package main: `fastify\.js` `package\.json:\d+`/,
  );
});

/** Paths that the short form documents: two modules, of which one imports the other. */
const part = ['README.md', 'package.json', 'hub/core', 'hub/documentation'];

test.skipIf(!existsSync(join(root, '.git')))(
  `this repository${isLong ? '' : ', in part'}`,
  { timeout: timeoutMs },
  async () => {
    await using scene = createDocumentationScene();
    const repo = join(scene.home, 'agenthub');
    git(scene.home, 'clone', '--quiet', '--depth=1', `file://${root}`, repo);
    if (!isLong) {
      git(repo, 'rm', '--quiet', '-r', '--', ':/', ...part.map(path => `:^/${path}`));
      git(repo, 'commit', '--quiet', '--message=part');
    }
    const { notes, count } = await documentTwice(repo, scene);
    assert.ok(count > (isLong ? 1_000 : 100), `${count} citations`);
    // Nearly all modules import the core, so the notes leave out the arrows to it.
    const core = isLong ? /Most modules import `hub\/core`/ : /m\d+\["hub\/core"\]/;
    assert.match(notes.get('project - Architecture') ?? '', core);
  },
);
