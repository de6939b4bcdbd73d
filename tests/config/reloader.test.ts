import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import { type FileReading, type FileSnapshot, snapshotOf } from '../../hub/config/files.ts';
import { createReloader } from '../../hub/config/reloader.ts';

type Reading = FileReading<{ readonly content: string }>;

const fileOf = (text: string) => snapshotOf('/hub.json', text);
const good = (content: string): Reading => ({ files: [fileOf(content)], content });
const bad = (message: string, text = message): Reading => ({
  files: [fileOf(text)],
  error: new HubError('HUB_CONFIG_INVALID', message),
});

/** Creates a reloader of one file that returns readings of the test, and turns their outcomes into text. */
function open(firstFiles: readonly FileSnapshot[] = [fileOf('first')]) {
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  const readings: (Reading | Promise<Reading>)[] = [];
  let reads = 0;
  const reloader = createReloader<{ readonly content: string }, string>(
    firstFiles,
    {},
    {
      async read() {
        reads++;
        return (await readings.shift()) ?? assert.fail('nothing is to be read');
      },
      apply: ({ content }, { isChanged, wasRefused }) =>
        `${content ?? ''}${isChanged ? ' changed' : ''}${wasRefused ? ' after a refusal' : ''}`,
      refused: error => `refused: ${error.code} ${error.message}`,
      invalidMessage: 'not valid',
      clock,
      log,
    },
  );
  return {
    ...reloader,
    clock,
    logged,
    reads: () => reads,
    async reload(...next: readonly (Reading | Promise<Reading>)[]) {
      readings.push(...next);
      return await reloader.service.reload();
    },
    readings,
  };
}

describe('a reload', () => {
  test('applies the config it reads, and says whether it differs', async () => {
    const at = open();
    assert.equal(await at.reload(good('first')), 'first');
    assert.equal(await at.reload(good('second')), 'second changed');
    assert.equal(await at.reload(good('second')), 'second');
  });

  test('of invalid content is refused, and the status has time and reason', async () => {
    const at = open();
    assert.equal(await at.reload(bad('wrong')), 'refused: HUB_CONFIG_INVALID wrong');
    const since = at.clock.now();
    at.clock.advance(1000);
    await at.reload(bad('wrong'));
    assert.deepEqual(at.status(), {
      files: ['/hub.json'],
      error: { at: since, message: 'wrong' },
    });
    assert.equal(at.logged.length, 1, 'the same error is logged once');
    at.clock.advance(1000);
    await at.reload(bad('wrong otherwise'));
    assert.equal(at.status().error?.at, since + 2000);
    assert.equal(at.logged.length, 2);
  });

  test('after a refusal counts as a change, even if the content is that from before', async () => {
    const at = open();
    await at.reload(bad('wrong'));
    assert.equal(await at.reload(good('first')), 'first changed after a refusal');
    assert.equal(at.status().error, undefined);
    assert.equal(await at.reload(good('first')), 'first');
  });

  test('that throws while reading is refused, and keeps the watched files', async () => {
    const at = open();
    const thrown = Promise.reject<Reading>(new TypeError('a bug'));
    assert.equal(await at.reload(thrown), 'refused: HUB_INTERNAL a bug');
    const known = Promise.reject<Reading>(new HubError('HUB_CONFIG_MISSING', 'gone'));
    assert.equal(await at.reload(known), 'refused: HUB_CONFIG_MISSING gone');
    assert.deepEqual(at.status().files, ['/hub.json']);
  });
});

test('requests during a reading share one further reading', async () => {
  const at = open();
  const first = Promise.withResolvers<Reading>();
  const second = Promise.withResolvers<Reading>();
  at.readings.push(first.promise, second.promise, good('third'));
  const outcomes = [at.service.reload(), at.service.reload(), at.service.reload()];
  assert.equal(at.reads(), 1);
  first.resolve(good('first'));
  await outcomes[0];
  second.resolve(good('second'));
  assert.deepEqual(await Promise.all(outcomes), ['first', 'second changed', 'second changed']);
  assert.equal(at.reads(), 2);
  assert.equal(await at.service.reload(), 'third changed');
});

test('a stop waits for the current and the requested reading', async () => {
  const at = open();
  const first = Promise.withResolvers<Reading>();
  const second = Promise.withResolvers<Reading>();
  at.readings.push(first.promise, second.promise);
  const outcomes = Promise.all([at.service.reload(), at.service.reload()]);
  let isStopped = false;
  const stopped = at.service.stop().then(() => (isStopped = true));
  first.resolve(good('first'));
  // Lets the first reload finish after its files are read.
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual([at.reads(), isStopped], [2, false]);
  second.resolve(good('second'));
  await stopped;
  assert.deepEqual(await outcomes, ['first', 'second changed']);
  assert.equal(at.reads(), 2);
});
