import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { brokenLinks, checkCitations, createDocumentationScene, resultOf } from './harness.ts';

describeWithEngine('with Docker', () => {
  test('containers read the repository and write the vault, each of which belongs to a user', async () => {
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
});
