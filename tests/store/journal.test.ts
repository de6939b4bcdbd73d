import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createRecordingLog } from '#helpers/hub';
import { type JournalNeeds, createBacklog, createJournal } from '#store';
import { createFaultyDisk } from './journal-disks.ts';

const path = '/data/jobs.jsonl';
const folderOf = () => mkdtempDisposable(join(tmpdir(), 'journal-'));

type Entry = { readonly id: number; readonly text?: string };

/** Opens a journal and replays its records into a state: the newest `keep` entries. */
async function opened(
  needs: Partial<JournalNeeds>,
  { file = path, maxBytes = 10_000, keep = 5 } = {},
) {
  let state: readonly unknown[] = [];
  const journal = createJournal(
    {
      file,
      maxBytes,
      snapshot: () => state.filter(one => typeof one === 'object' && one !== null),
    },
    { log: silent, ...needs },
  );
  const read = await journal.open();
  state = read;
  return {
    read,
    journal,
    add: async (entry: Entry): Promise<boolean> => {
      state = [...state, entry].slice(-keep);
      return await journal.append(entry);
    },
  };
}

const readAgain = async (disk: ReturnType<typeof createFaultyDisk>) =>
  (await opened({ disk: disk.disk })).read;

describe('a journal', () => {
  test('returns what was appended, in order, also in the next run', async () => {
    await using folder = await folderOf();
    const file = join(folder.path, 'jobs.jsonl');
    const first = await opened({}, { file });
    assert.deepEqual(first.read, []);
    assert.deepEqual(await readdir(folder.path), [], 'no file before there is a record');
    await Promise.all([1, 2, 3].map(id => first.add({ id, text: 'ä\nb' })));
    await first.journal.close();
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const second = await opened({}, { file });
    assert.deepEqual(
      second.read,
      [1, 2, 3].map(id => ({ id, text: 'ä\nb' })),
    );
    assert.equal(await second.add({ id: 4 }), true);
    await second.journal.close();
    assert.deepEqual((await readFile(file, 'utf8')).split('\n').at(-2), '{"id":4}');
  });

  test('syncs each record before its write resolves, and queued records together', async () => {
    const disk = createFaultyDisk();
    const { add } = await opened({ disk: disk.disk });
    await add({ id: 1 });
    assert.deepEqual(disk.done, ['open a', 'syncFolder', 'write', 'sync']);
    assert.deepEqual(await readAgain(disk.afterPowerFailure()), [{ id: 1 }]);
    disk.done.length = 0;
    await Promise.all([2, 3, 4].map(id => add({ id })));
    assert.deepEqual(disk.done, ['write', 'sync']);
  });

  test('drops a truncated last line, and nothing else', async () => {
    const lines = [1, 2, 3].map(id => `${JSON.stringify({ id, text: 'grüße' })}\n`);
    const whole = Buffer.from(lines.join(''));
    const before = Buffer.byteLength(lines.slice(0, 2).join(''));
    for (let length = before; length <= whole.length; length++) {
      const disk = createFaultyDisk({ [path]: whole.subarray(0, length) });
      const { read, add } = await opened({ disk: disk.disk });
      const ids = length === whole.length ? [1, 2, 3] : [1, 2];
      assert.deepEqual(
        read,
        ids.map(id => ({ id, text: 'grüße' })),
        `cut at ${length}`,
      );
      await add({ id: 4 });
      assert.deepEqual(
        await readAgain(disk.afterKill()),
        [...ids.map(id => ({ id, text: 'grüße' })), { id: 4 }],
        `appended after a cut at ${length}`,
      );
    }
  });

  test('skips lines in the middle that are not JSON, and logs how many', async () => {
    await using folder = await folderOf();
    const file = join(folder.path, 'jobs.jsonl');
    await writeFile(file, '{"id":1}\n\0\0\0\n{"id":2}\n');
    const { log, logged } = createRecordingLog();
    const { read } = await opened({ log }, { file });
    assert.deepEqual(read, [{ id: 1 }, { id: 2 }]);
    assert.deepEqual(logged, [
      {
        level: 'warn',
        message: 'lines of a journal cannot be read and are skipped',
        fields: { file, damaged: 1 },
      },
    ]);
  });

  test('counts as empty if its file cannot be read, and logs it', async () => {
    await using folder = await folderOf();
    const { log, logged } = createRecordingLog();
    const { read } = await opened({ log }, { file: folder.path });
    assert.deepEqual(read, []);
    assert.match(logged[0]?.message ?? '', /^a journal cannot be read/);
  });
});

describe('a journal whose disk is full', () => {
  test('logs once that nothing is written, and writes all of it when there is space again', async () => {
    const { log, logged } = createRecordingLog();
    const disk = createFaultyDisk();
    const { add, journal } = await opened({ disk: disk.disk, log });
    assert.equal(await add({ id: 1 }), true);
    disk.fail(1, 3);
    assert.equal(await add({ id: 2 }), false);
    assert.equal(await add({ id: 3 }), false);
    assert.deepEqual(await readAgain(disk.afterKill()), [{ id: 1 }], 'the torn line is not read');
    assert.equal(await add({ id: 4 }), false);
    assert.equal(await add({ id: 5 }), true);
    await journal.close();
    const all = [1, 2, 3, 4, 5].map(id => ({ id }));
    assert.deepEqual(await readAgain(disk.afterKill()), all);
    assert.deepEqual(await readAgain(disk.afterPowerFailure()), all);
    assert.deepEqual(
      logged.map(({ level, message }) => [level, message]),
      [
        ['warn', 'a file of the hub could not be written'],
        ['info', 'files of the hub are written again'],
      ],
    );
  });

  test('is retried by the backlog, and when it is closed', async () => {
    const backlog = createBacklog();
    const disk = createFaultyDisk();
    const { add, journal } = await opened({ disk: disk.disk, backlog });
    disk.fail(1, 2);
    assert.equal(await add({ id: 1 }), false);
    const [behind] = await backlog.retry();
    assert.deepEqual(behind, { file: path, reason: 'ENOSPC: no space left on device' });
    assert.deepEqual(await backlog.retry(), []);
    assert.deepEqual(await readAgain(disk.afterPowerFailure()), [{ id: 1 }]);
    disk.fail(1, 1);
    assert.equal(await add({ id: 2 }), false);
    await journal.close();
    assert.deepEqual(await readAgain(disk.afterPowerFailure()), [{ id: 1 }, { id: 2 }]);
  });

  test('is not retried once it is closed, as another journal may have the file', async () => {
    const backlog = createBacklog();
    const disk = createFaultyDisk();
    const { add, journal } = await opened({ disk: disk.disk, backlog });
    disk.fail(1, 2);
    assert.equal(await add({ id: 1 }), false);
    await journal.close();
    assert.deepEqual(await backlog.retry(), []);
    assert.deepEqual(await readAgain(disk.afterPowerFailure()), []);
  });
});

describe('a journal that is compacted', () => {
  test('never grows beyond its limit, and has the newest records', async () => {
    const disk = createFaultyDisk();
    const { add } = await opened({ disk: disk.disk }, { maxBytes: 1_000, keep: 5 });
    for (let id = 0; id < 500; id++) {
      assert.equal(await add({ id, text: 'x'.repeat(20) }), true);
      assert.ok(disk.sizeOf(path) <= 1_000, String(disk.sizeOf(path)));
    }
    const read = await readAgain(disk.afterPowerFailure());
    assert.deepEqual(
      read.slice(-5),
      [495, 496, 497, 498, 499].map(id => ({ id, text: 'x'.repeat(20) })),
    );
    assert.ok(disk.done.filter(name => name === 'rename').length > 5);
  });

  test('drops the oldest records if the snapshot needs more than half of the limit', async () => {
    const disk = createFaultyDisk();
    const { add } = await opened({ disk: disk.disk }, { maxBytes: 200, keep: 100 });
    for (let id = 100; id < 150; id++) await add({ id });
    assert.ok(disk.sizeOf(path) <= 200);
    assert.deepEqual((await readAgain(disk.afterKill())).at(-1), { id: 149 });
  });

  test('keeps the newest record even if it needs more than half of the limit, or all of it', async () => {
    const disk = createFaultyDisk();
    const { add } = await opened({ disk: disk.disk }, { maxBytes: 200, keep: 2 });
    for (const [id, length] of [100, 150, 400, 10].entries()) {
      assert.equal(await add({ id, text: 'x'.repeat(length) }), true);
      assert.deepEqual((await readAgain(disk)).at(-1), { id, text: 'x'.repeat(length) });
    }
  });

  test('loses nothing where the compaction is cut off at any of its steps', async () => {
    /** Creates a disk with eight records, whose next append compacts the journal. */
    const filled = async () => {
      const disk = createFaultyDisk();
      const journal = await opened({ disk: disk.disk }, { maxBytes: 200, keep: 3 });
      for (let id = 1; id <= 8; id++) assert.equal(await journal.add({ id, text: 'abcd' }), true);
      disk.done.length = 0;
      return { disk, ...journal };
    };
    const { disk: whole, add: addWhole } = await filled();
    assert.equal(await addWhole({ id: 9, text: 'abcd' }), true);
    const steps = [...whole.done];
    assert.deepEqual(steps, ['open w', 'write', 'sync', 'rename', 'syncFolder']);

    for (let cutAt = 1; cutAt <= steps.length; cutAt++) {
      const { disk, add } = await filled();
      disk.fail(cutAt);
      assert.equal(await add({ id: 9, text: 'abcd' }), false);
      for (const [crash, left] of [
        ['a kill', disk.afterKill()],
        ['a power failure', disk.afterPowerFailure()],
      ] as const) {
        const read = (await readAgain(left)).map(one => JSON.stringify(one));
        const has = (id: number) => read.includes(JSON.stringify({ id, text: 'abcd' }));
        // The disk contains the old file or the new one, each with all records that count.
        assert.ok(
          [7, 8].every(has) && (has(6) || has(9)),
          `after ${crash} at ${steps[cutAt - 1]}: ${read.join()}`,
        );
      }
      // The same hub can continue, and so can the next one.
      disk.fail(Infinity);
      assert.equal(await add({ id: 10, text: 'abcd' }), true);
      assert.deepEqual(
        (await readAgain(disk.afterPowerFailure())).slice(-3),
        [8, 9, 10].map(id => ({ id, text: 'abcd' })),
      );
    }
  });
});
