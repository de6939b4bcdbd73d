import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { lookup, never, openSemantic, untilIdle } from './semantic-scene.ts';
import { scriptedJudge } from './scripted-judge.ts';

const first = 'How do I undo my last git commit?';
const reworded = 'Is there a good way to take back my last git commit?';

describe('a judge', () => {
  test('that says yes makes a hit, and is not asked about the like again', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    const found = await scene.find(reworded);
    assert.ok(found.kind === 'hit');
    assert.deepEqual([found.value, found.why], [`better: ${first}`, 'judged to mean the same']);
    const again = await scene.find(`Please, ${reworded}`);
    assert.ok(again.kind === 'hit');
    assert.deepEqual([again.value, again.prompt], [`better: ${first}`, reworded]);
    assert.equal(judge.asked.length, 1);
  });

  test('that said yes is believed by another hub with the same vectors', async () => {
    await using scene = await openSemantic(scriptedJudge('same'));
    await scene.store(first);
    await scene.find(reworded);
    const found = await scene.another().find(reworded, lookup, never);
    assert.equal(found.kind, 'hit');
  });

  test('that says no makes a miss, and is not asked about the two again', async () => {
    const judge = scriptedJudge('different');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    for (const mode of ['verified', 'verified', 'threshold'] as const) {
      const found = await scene.find(reworded, { mode });
      assert.ok(found.kind === 'miss');
      assert.equal(found.why, 'judged to differ');
    }
    assert.equal(judge.asked.length, 1);
  });

  test('that does not know makes a miss now, and its later yes a hit', async () => {
    const judge = scriptedJudge('unknown');
    const answer = Promise.withResolvers<'same'>();
    judge.later = answer.promise;
    await using scene = await openSemantic(judge);
    await scene.store(first);
    const found = await scene.find(reworded);
    assert.ok(found.kind === 'miss');
    assert.equal(found.why, 'not judged yet');
    assert.equal((await scene.cache.stats()).waiting, 1);
    answer.resolve('same');
    await untilIdle(scene);
    const again = await scene.find(`please ${reworded}`);
    assert.equal(again.kind, 'hit');
    assert.deepEqual(
      judge.asked.map(([way]) => way),
      ['now', 'later'],
    );
  });

  test('is asked in the background one at a time, each pair once, and no more than may wait', async () => {
    const judge = scriptedJudge('unknown');
    const answer = Promise.withResolvers<'different'>();
    judge.later = answer.promise;
    await using scene = await openSemantic(judge, { maxWaiting: 2 });
    await scene.store(first);
    for (const prompt of [reworded, reworded, `${reworded} I wonder`, `${reworded} I ask`])
      await scene.find(prompt);
    const { waiting, refused } = await scene.cache.stats();
    assert.deepEqual([waiting, refused], [2, 1]);
    const askedLater = () => judge.asked.filter(([way]) => way === 'later').length;
    scene.clock.advance(4_999);
    assert.equal(askedLater(), 0);
    scene.clock.advance(60_000);
    assert.equal(askedLater(), 1);
    answer.resolve('different');
    await untilIdle(scene);
    assert.equal(askedLater(), 2);
    assert.equal((await scene.cache.stats()).judgements.different, 2);
  });

  test('is not asked by way of another name, so that meaning does not drift', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    await scene.find(reworded);
    await scene.find('Is there some way that my last git commit can be taken back?');
    assert.deepEqual(
      judge.asked.map(([, a]) => a),
      [first, first],
    );
  });

  test('cannot bring back what was forgotten while it thought', async () => {
    const judge = scriptedJudge('unknown');
    const answer = Promise.withResolvers<'same'>();
    judge.later = answer.promise;
    await using scene = await openSemantic(judge);
    await scene.store(first);
    await scene.find(reworded);
    assert.equal(await scene.cache.forget(), 1);
    answer.resolve('same');
    await untilIdle(scene);
    assert.equal((await scene.cache.stats()).vectors.entries, 0);
  });
});
