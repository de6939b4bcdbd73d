import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import type { DocumentationModels } from '#documentation';
import { git, writeFiles } from '../../repositories/harness.ts';
import {
  brokenLinks,
  checkCitations,
  createDocumentationScene,
  noModels,
  resultOf,
} from '../harness.ts';

const files = {
  'src/a/a.ts': 'export const a = 1;\nconst b = 2;\n',
  'src/b/b.ts': 'export const c = 1;\n',
};
type Chat = DocumentationModels['chat'];
const withModel = (chat: Chat): DocumentationModels => ({
  ...noModels,
  defaultModel: async () => 'local:1b',
  chat,
});

describe('with a model,', () => {
  test('notes have lines with citations that exist, and only changed modules are described again', async () => {
    const prompts: string[] = [];
    await using scene = createDocumentationScene({
      models: withModel(async ({ prompt }) => {
        prompts.push(prompt);
        const [, folder = ''] = /Module: (\S+)/.exec(prompt) ?? [];
        const name = folder.slice(-1);
        return `- It holds one number, see [[x]]. [${folder}/${name}.ts:1]\n- It lies. [src/none.ts:1]\n- And lies on. [${name}.ts:99]`;
      }),
    });
    const repo = scene.create(files);
    const request = { repo_path: repo, project_name: 'app' };
    const result = resultOf(await scene.run(request));
    assert.deepEqual(
      [result['model'], result['described'], result['citations_removed'], result['claims_dropped']],
      ['local:1b', 2, 4, 4],
    );
    const notes = scene.notes('app');
    assert.match(
      notes.get('app - src - a') ?? '',
      /## How it works\n\n- It holds one number, see \\\[\\\[x\\\]\\\]\. `src\/a\/a\.ts:1`\n\n\*Written by local:1b\./,
    );
    assert.match(notes.get('app - Index') ?? '', /It holds one number/);
    assert.deepEqual([brokenLinks(notes), checkCitations(repo, notes).wrong], [[], []]);
    assert.match(prompts[0] ?? '', /=== src\/a\/a\.ts\n1\| export const a = 1;\n2\| const b = 2;/);

    writeFiles(repo, { 'src/a/a.ts': 'export const a = 3;\nconst b = 2;\n' });
    git(repo, 'commit', '--quiet', '--all', '--message=second');
    const again = resultOf(await scene.run(request));
    assert.deepEqual([again['written'], prompts.length], [['app - src - a'], 3]);

    const without = resultOf(await scene.run({ ...request, model: 'none' }));
    assert.deepEqual(
      [without['created'], without['replaced']],
      [0, 0],
      'what the model wrote stays',
    );
    assert.equal(without['note'], 'written without a model: outlines, comments and imports only');
    const dry = resultOf(await scene.run({ ...request, project_name: 'dry', dry_run: true }));
    assert.ok(Number(dry['estimated_tokens']) > 0 && prompts.length === 3);
  });

  test('notes are written without a model that fails three times in a row', async () => {
    let calls = 0;
    await using scene = createDocumentationScene({
      models: withModel(async () => {
        calls++;
        throw new HubError('HUB_MODEL_FAILED', 'the model has no memory');
      }),
    });
    const many = Object.fromEntries(
      Array.from({ length: 6 }, (_, at) => [`m${at}/a.ts`, 'export const a = 1;\n']),
    );
    const result = resultOf(
      await scene.run({ repo_path: scene.create(many), project_name: 'app' }),
    );
    assert.deepEqual(
      [calls, result['created'], result['described'], result['model_failure']],
      [3, 9, 0, 'the model has no memory'],
    );
    assert.doesNotMatch([...scene.notes('app').values()].join(), /^model: /m);
  });

  test('an answer without a citation that exists is left out', async () => {
    await using scene = createDocumentationScene({
      models: withModel(async () => 'It is very good code.'),
    });
    const result = resultOf(
      await scene.run({ repo_path: scene.create(files), project_name: 'app' }),
    );
    assert.match(String(result['model_failure']), /wrote no line with a citation that exists/);
    assert.doesNotMatch([...scene.notes('app').values()].join(), /very good/);
  });

  test('a note is unchanged if the model is asked again without a usable answer', async () => {
    await using scene = createDocumentationScene({
      models: withModel(async () => 'It is very good code.'),
    });
    const repo = scene.create(files);
    const request = { repo_path: repo, project_name: 'app' };
    await scene.run(request);
    const before = scene.notes('app');
    const again = resultOf(await scene.run(request));
    assert.deepEqual([again['created'], again['replaced'], scene.notes('app')], [0, 0, before]);
  });
});
