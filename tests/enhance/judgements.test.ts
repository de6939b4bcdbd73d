import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createTable } from '#store';
import { createJudgements } from '../../hub/enhance/judgements.ts';
import type { Judge } from '../../hub/enhance/judge.ts';
import { scriptedJudge } from './scripted-judge.ts';

function openJudgements(
  judge?: Judge,
  {
    maxWaiting = 10,
    table = createTable({ file: undefined, maxEntries: 100 }, createRecordingLog()),
  } = {},
) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const models = { isBusy: false };
  const judgements = createJudgements(
    { maxWaiting },
    { judge, table, isBusy: () => models.isBusy, clock, log },
  );
  return { clock, logged, table, judgements, models };
}

/** Waits until the callbacks of all settled promises have run. */
const settle = () => new Promise(resolve => setImmediate(resolve));

/** Returns two prompts about the subject that differ in the same words for each subject. */
const pairOf = (subject: string) =>
  [`explain how ${subject} works`, `describe the way ${subject} works`] as const;

type Opened = ReturnType<typeof openJudgements>;
async function judgeNow({ judgements, clock }: Opened, subject: string): Promise<void> {
  await judgements.judgeLater(...pairOf(subject));
  clock.advance(5_000);
  await settle();
}
const labelOf = ({ judgements }: Opened, subject: string) => judgements.labelOf(...pairOf(subject));

describe('an answer of the judge', () => {
  test.each(['same', 'different'] as const)(
    '%s is valid for all pairs of the class',
    async answer => {
      const judge = scriptedJudge(answer);
      const opened = openJudgements(judge);
      assert.equal(await labelOf(opened, 'Redis'), undefined);
      await judgeNow(opened, 'Redis');
      assert.equal(await labelOf(opened, 'Redis'), answer);
      assert.equal(await labelOf(opened, 'Kafka'), answer);
      const [a, b] = pairOf('Kafka');
      assert.equal(await opened.judgements.labelOf(b, a), answer);
      assert.equal(await opened.judgements.labelOf(a, 'say how Kafka works'), undefined);
      assert.deepEqual(judge.asked, [pairOf('Redis')]);
    },
  );

  test('is confirmed by two other pairs of the class, each judged once', async () => {
    const judge = scriptedJudge('same');
    const opened = openJudgements(judge);
    for (const subject of ['a1', 'a1', 'a2', 'a3', 'a4']) await judgeNow(opened, subject);
    assert.deepEqual(
      judge.asked.map(([asked]) => asked),
      ['a1', 'a2', 'a3'].map(subject => pairOf(subject)[0]),
    );
  });

  test('that another pair contradicts is dropped, and the class is not judged again', async () => {
    const judge = scriptedJudge('same');
    const opened = openJudgements(judge);
    await judgeNow(opened, 'Redis');
    judge.answer = 'different';
    await judgeNow(opened, 'Kafka');
    for (const subject of ['Redis', 'Kafka', 'Ceph'])
      assert.equal(await labelOf(opened, subject), undefined);
    judge.answer = 'same';
    await judgeNow(opened, 'Ceph');
    assert.equal(judge.asked.length, 2);
    assert.equal(await labelOf(opened, 'Redis'), undefined);
  });

  test('expires after 30 days, and is valid for another hub with the same table and judge until then', async () => {
    const opened = openJudgements(scriptedJudge('same'));
    await judgeNow(opened, 'Redis');
    const other = openJudgements(scriptedJudge(), { table: opened.table });
    assert.equal(await labelOf(other, 'Kafka'), 'same');
    assert.equal(
      await labelOf(openJudgements({ ...scriptedJudge(), model: 'another' }, opened), 'Kafka'),
      undefined,
    );
    assert.equal(await labelOf(openJudgements(undefined, opened), 'Kafka'), undefined);
    other.clock.advance(2_592_000_000 + 5_000 - 1);
    assert.equal(await labelOf(other, 'Kafka'), 'same');
    other.clock.advance(1);
    assert.equal(await labelOf(other, 'Kafka'), undefined);
  });

  test('in another format, or from another program, is ignored', async () => {
    const opened = openJudgements(scriptedJudge('same'));
    await judgeNow(opened, 'Redis');
    const [[key] = ['']] = await opened.table.entries();
    for (const text of [
      '{',
      '[]',
      '{"label":"yes","pairs":[],"expiresAt":9e15}',
      '{"label":"same"}',
    ]) {
      await opened.table.put(key, text);
      assert.equal(await labelOf(opened, 'Redis'), undefined, text);
    }
  });

  test('`unknown` is not kept: the pair may be queued again', async () => {
    const judge = scriptedJudge('unknown');
    const opened = openJudgements(judge);
    await judgeNow(opened, 'Redis');
    await judgeNow(opened, 'Redis');
    assert.equal(judge.asked.length, 2);
    assert.deepEqual(await opened.table.entries(), []);
    assert.equal(opened.judgements.stats.judgements.unknown, 2);
  });

  test('of a request from before a forget of all is not kept, and the others are removed', async () => {
    const answer = Promise.withResolvers<'same'>();
    const judge = scriptedJudge('same');
    const opened = openJudgements(judge);
    await judgeNow(opened, 'Redis');
    judge.answer = answer.promise;
    await judgeNow(opened, 'Kafka');
    await opened.judgements.forget();
    answer.resolve('same');
    await settle();
    assert.deepEqual(await opened.table.entries(), []);
  });
});

test('a pair that was queued when all were forgotten is not judged, unless it is queued again', async () => {
  const judge = scriptedJudge('same');
  const opened = openJudgements(judge);
  const { judgements, clock, table } = opened;
  for (const subject of ['Redis', 'Kafka']) await judgements.judgeLater(...pairOf(subject));
  await judgements.forget();
  assert.equal(judgements.stats.waiting, 0);
  clock.advance(10_000);
  await settle();
  assert.deepEqual([judge.asked, await table.entries()], [[], []]);
  await judgeNow(opened, 'Kafka');
  assert.deepEqual(judge.asked, [pairOf('Kafka')]);
});

test('a pair whose class is being looked up when all are forgotten is not queued', async () => {
  const { judgements } = openJudgements(scriptedJudge('same'));
  const later = judgements.judgeLater(...pairOf('Redis'));
  await judgements.forget();
  await later;
  assert.equal(judgements.stats.waiting, 0);
});

test('pairs are judged one at a time, five seconds apart, and the queue is bounded', async () => {
  const judge = scriptedJudge();
  const { judgements, clock } = openJudgements(judge, { maxWaiting: 2 });
  for (const word of ['one', 'two', 'one', 'three']) await judgements.judgeLater('zero', word);
  assert.deepEqual([judgements.stats.waiting, judgements.stats.refused], [2, 1]);
  clock.advance(4_999);
  assert.deepEqual(judge.asked, []);
  clock.advance(1);
  await settle();
  clock.advance(4_999);
  assert.deepEqual(judge.asked, [['zero', 'one']]);
  clock.advance(1);
  await settle();
  assert.equal(judge.asked.length, 2);
  assert.deepEqual([judgements.stats.waiting, clock.waiting], [0, 0]);
});

test('a pair waits while models work on prompts', async () => {
  const judge = scriptedJudge();
  const { judgements, clock, models } = openJudgements(judge);
  models.isBusy = true;
  await judgements.judgeLater('a', 'b');
  for (let turn = 0; turn < 3; turn++) {
    clock.advance(5_000);
    await settle();
  }
  assert.deepEqual([judge.asked, judgements.stats.waiting], [[], 1]);
  models.isBusy = false;
  clock.advance(5_000);
  await settle();
  assert.deepEqual(judge.asked, [['a', 'b']]);
});

test('without a judge no pair is queued', async () => {
  const { judgements, clock } = openJudgements();
  await judgements.judgeLater('a', 'b');
  assert.deepEqual([judgements.stats.waiting, clock.waiting], [0, 0]);
});

test('a judge that throws is logged, and the next pair gets its turn', async () => {
  const judge = scriptedJudge(Promise.reject(new Error('out of order')));
  const opened = openJudgements(judge);
  await judgeNow(opened, 'Redis');
  judge.answer = 'same';
  await judgeNow(opened, 'Kafka');
  assert.equal(await labelOf(opened, 'Kafka'), 'same');
  assert.deepEqual(
    opened.logged.map(({ level, fields }) => [level, fields]),
    [['warn', { error: 'out of order' }]],
  );
});

test('once stopped, the queue is empty, and the running judgement is cancelled without a log entry', async () => {
  let cancelled = false;
  const { judgements, clock, logged } = openJudgements({
    model: 'slow',
    ask: (_a, _b, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          cancelled = true;
          reject(signal.reason);
        }),
      ),
  });
  for (const word of ['one', 'two']) await judgements.judgeLater('zero', word);
  clock.advance(5_000);
  judgements.stop();
  await settle();
  await judgements.judgeLater('zero', 'three');
  assert.equal(cancelled, true);
  assert.deepEqual([judgements.stats.waiting, clock.waiting, logged.length], [0, 0, 0]);
});
