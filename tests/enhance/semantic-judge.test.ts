import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { lookup, never, openSemantic, untilIdle } from './semantic-scene.ts';
import { scriptedJudge } from './scripted-judge.ts';

const first = 'How do I undo my last git commit?';
const reworded = 'Is there a good way to take back my last git commit?';
/** Two prompts that differ in the same words as `first` and `reworded`. */
const [kept, likeIt] = [
  'How do I undo my last svn merge?',
  'Is there a good way to take back my last svn merge?',
];

describe('a judge', () => {
  test('never delays a prompt: its yes makes the next look-up a hit, and is requested once', async () => {
    const answer = Promise.withResolvers<'same'>();
    const judge = scriptedJudge(answer.promise);
    await using scene = await openSemantic(judge);
    await scene.store(first);
    const found = await scene.find(reworded);
    assert.ok(found.kind === 'miss');
    assert.match(found.why, /: not judged yet$/);
    assert.deepEqual([judge.asked, (await scene.cache.stats()).waiting], [[], 1]);
    answer.resolve('same');
    await untilIdle(scene);
    const again = await scene.find(`Please, ${reworded}`);
    assert.ok(again.kind === 'hit');
    assert.deepEqual([again.value, again.why], [`better: ${first}`, 'judged to mean the same']);
    assert.deepEqual(judge.asked, [[first, reworded]]);
  });

  test('that answered yes decides about other pairs that differ in the same words', async () => {
    await using scene = await openSemantic(scriptedJudge('same'));
    await scene.store(first);
    await scene.store(kept);
    await scene.find(reworded);
    await untilIdle(scene);
    const found = await scene.find(likeIt);
    assert.ok(found.kind === 'hit');
    assert.equal(found.prompt, kept);
  });

  test('that answered yes decides after a restart', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    await scene.find(reworded);
    await untilIdle(scene);
    const found = await scene.another(judge).find(reworded, lookup, never);
    assert.equal(found.kind, 'hit');
  });

  test('that answered no makes a miss in all modes, and is not asked again about the pair', async () => {
    const judge = scriptedJudge('different');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    await scene.find(reworded);
    await untilIdle(scene);
    for (const mode of ['guarded', 'verified', 'threshold'] as const) {
      const found = await scene.find(reworded, { mode });
      assert.ok(found.kind === 'miss');
      assert.equal(found.why, 'judged to differ');
    }
    assert.equal(judge.asked.length, 1);
  });

  test('does not restore an entry that was forgotten while it ran', async () => {
    const answer = Promise.withResolvers<'same'>();
    const judge = scriptedJudge(answer.promise);
    await using scene = await openSemantic(judge);
    await scene.store(first);
    await scene.find(reworded);
    scene.clock.advance(5_000);
    assert.equal(await scene.cache.forget(), 1);
    answer.resolve('same');
    await untilIdle(scene);
    await scene.store(first);
    assert.equal((await scene.find(reworded)).kind, 'miss');
  });
});
