import assert from 'node:assert/strict';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { brokenLinks, checkCitations, createDocumentationScene, resultOf } from './harness.ts';

describeWithEngine('with Docker', () => {
  test('containers read the repository and write the vault as the users who own them', async () => {
    await using scene = createDocumentationScene({ runsIn: 'docker' });
    scene.giveAway(scene.vault);
    const repo = scene.create({
      'src/a.ts': "import { b } from './b/b.ts';\n\nexport const a = b;\n",
      'src/b/b.ts': '/** The second letter. */\nexport const b = 2;\n',
    });
    const request = { repo_path: repo, project_name: 'app' };
    assert.equal(resultOf(await scene.run(request))['created'], 5);
    const notes = scene.notes('app');
    assert.deepEqual([brokenLinks(notes), checkCitations(repo, notes).wrong], [[], []]);
    const again = resultOf(await scene.run(request));
    assert.deepEqual([again['created'], again['replaced'], again['kept']], [0, 0, 5]);
  });

  test('a vault that is not writable is refused before the repository is opened', async () => {
    let opened = 0;
    await using scene = createDocumentationScene({
      runsIn: 'docker',
      beforeLaunch: () => opened++,
    });
    scene.giveAway(scene.vault);
    chmodSync(scene.vault, 0o555);
    const repo = scene.create({ 'a.ts': 'export const a = 1;\n' });
    const request = { repo_path: repo, project_name: 'app' };
    const job = await scene.run(request);
    assert.match(
      job.state === 'failed' ? `${job.error.code} ${job.error.message}` : '',
      /HUB_GIT_FAILED .*vault: EACCES: .*The folder must be writable for its owner$/,
    );
    assert.equal(opened, 1, 'the vault alone');
    assert.ok(!existsSync(join(scene.vault, 'app')));
    assert.equal(resultOf(await scene.run({ ...request, dry_run: true }))['created'], 4);
  });
});
