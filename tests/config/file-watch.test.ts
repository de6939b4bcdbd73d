import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { snapshotOf } from '#config';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { until } from '#helpers/hub';
import { createFileWatch, createFolderWatch } from '../../hub/config/file-watch.ts';
import { temporary } from './editing.ts';

const options = { quietMs: 200, shorterQuietMs: 2_000, maxQuietWaitMs: 5_000, pollMs: 3_000 };

/** Creates a watch of one file, with a manual clock and events that the test fires. */
async function watching(name = 'hub.json') {
  const folder = await temporary();
  const file = join(folder.path, name);
  await writeFile(file, 'old');
  const clock = createManualClock();
  let changes = 0;
  let event = () => {};
  const watch = createFileWatch(options, {
    clock,
    log: silent,
    async onChange() {
      changes++;
      await watch.follow([snapshotOf(file, await readFile(file, 'utf8'))]);
    },
    watchFolders(onEvent) {
      event = onEvent;
      return { follow: async () => {}, [Symbol.dispose]() {} };
    },
  });
  await watch.follow([snapshotOf(file, 'old')]);
  return {
    file,
    folder: folder.path,
    clock,
    watch,
    event: () => event(),
    changes: () => changes,
    async [Symbol.asyncDispose]() {
      await watch[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('a change of a file is reported', () => {
  test('but not a touch or a save of the same text', async () => {
    const opened = await watching();
    await utimes(opened.file, 1, 1);
    await writeFile(opened.file, 'old');
    opened.event();
    opened.clock.advance(options.quietMs);
    // Waits for the pending check of the file.
    await opened[Symbol.asyncDispose]();
    assert.equal(opened.changes(), 0);
  });

  test('once no event has come for a while', async () => {
    await using opened = await watching();
    await writeFile(opened.file, 'new');
    for (let event = 0; event < 10; event++) {
      opened.event();
      opened.clock.advance(options.quietMs - 1);
    }
    assert.equal(opened.changes(), 0);
    opened.clock.advance(1);
    await until(() => opened.changes() === 1);
  });

  test('at last even if events never stop', async () => {
    await using opened = await watching();
    await writeFile(opened.file, 'new');
    for (let passedMs = 0; passedMs < options.maxQuietWaitMs; passedMs += 100) {
      opened.event();
      opened.clock.advance(100);
    }
    await until(() => opened.changes() === 1);
  });
});

describe('a text that has become shorter', () => {
  /** Advances the clock, and waits until pending checks have read the file. */
  async function pass(opened: Awaited<ReturnType<typeof watching>>, milliseconds: number) {
    opened.clock.advance(milliseconds);
    for (let turn = 0; turn < 20; turn++) await readFile(opened.file);
  }

  test('is accepted after it was stable for longer, as truncated YAML may be valid', async () => {
    await using opened = await watching('hub.yaml');
    await writeFile(opened.file, 'ol');
    opened.event();
    await pass(opened, options.quietMs);
    // Another event for the same text does not shorten the wait.
    opened.event();
    await pass(opened, options.quietMs);
    await pass(opened, options.shorterQuietMs - options.quietMs - 1);
    assert.equal(opened.changes(), 0);
    opened.clock.advance(1);
    await until(() => opened.changes() === 1);
  });

  test('is waited for again with each new text, and no longer once it has its old length', async () => {
    await using opened = await watching('hub.yaml');
    for (const text of ['o', 'ol']) {
      await writeFile(opened.file, text);
      opened.event();
      await pass(opened, options.quietMs);
      await pass(opened, options.shorterQuietMs - 1);
      assert.equal(opened.changes(), 0);
    }
    await writeFile(opened.file, 'new');
    opened.event();
    opened.clock.advance(options.quietMs);
    await until(() => opened.changes() === 1);
  });

  test('is waited for where it is empty or away, as a file is that an editor writes anew', async () => {
    await using opened = await watching();
    await writeFile(opened.file, '');
    opened.event();
    await pass(opened, options.quietMs);
    await rm(opened.file);
    opened.event();
    opened.clock.advance(options.quietMs);
    for (let turn = 0; turn < 20; turn++) await readFile(opened.folder).catch(() => {});
    assert.equal(opened.changes(), 0);
    await writeFile(opened.file, 'new');
    opened.event();
    opened.clock.advance(options.quietMs);
    await until(() => opened.changes() === 1);
  });

  test('is read at once if it is JSON, which is invalid when truncated', async () => {
    await using opened = await watching();
    await writeFile(opened.file, 'ne');
    opened.event();
    opened.clock.advance(options.quietMs);
    await until(() => opened.changes() === 1);
  });
});

test('without an event, a poll finds the change, and waits until the text is stable', async () => {
  await using opened = await watching();
  const { clock } = opened;
  // Runs the check after the start. Then only the timer of the next check is waiting.
  clock.advance(options.quietMs);
  assert.equal(clock.waiting, 1);
  // A check reads the disk twice, and the disk serves reads in order.
  for (let turn = 0; turn < 20; turn++) await readFile(opened.file);
  await writeFile(opened.file, 'half');
  clock.advance(options.pollMs);
  await until(() => clock.waiting === 2);
  await writeFile(opened.file, 'half and half');
  clock.advance(options.quietMs);
  // The check found another text than the one that started it, so it waits again.
  await until(() => clock.waiting === 2);
  assert.equal(opened.changes(), 0);
  clock.advance(options.quietMs);
  await until(() => opened.changes() === 1);
});

describe('a folder is watched', () => {
  async function folders() {
    const folder = await temporary();
    const [inside, file] = [join(folder.path, 'in'), join(folder.path, 'in', 'hub.json')];
    await mkdir(inside);
    await writeFile(file, '');
    let events = 0;
    const watch = createFolderWatch(() => events++, assert.fail);
    await watch.follow([file]);
    const heard = async (work: () => Promise<void>) => {
      const before = events;
      await work();
      await until(() => events > before);
    };
    return {
      inside,
      file,
      watch,
      heard,
      async [Symbol.asyncDispose]() {
        watch[Symbol.dispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  }

  test('for its files, and for a swap of the link behind them', async () => {
    await using opened = await folders();
    await opened.heard(async () => await writeFile(opened.file, 'new'));
    await opened.heard(async () => await rename(opened.file, `${opened.file}~`));
    await opened.heard(async () => await symlink('.', join(opened.inside, '..data')));
  });

  test('again once another folder has its name, and the change is reported', async () => {
    await using opened = await folders();
    await rename(opened.inside, `${opened.inside}.old`);
    await mkdir(opened.inside);
    await opened.heard(async () => await opened.watch.follow([opened.file]));
    await opened.heard(async () => await writeFile(opened.file, 'new'));
  });
});
