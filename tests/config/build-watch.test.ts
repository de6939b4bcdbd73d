import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { type Config, loadConfig } from '#config';
import { silent, systemClock } from '#core';
import { createBuildWatch } from '../../hub/config/build-watch.ts';

let folder = '';
let config: Pick<Config, 'servers'> = { servers: [] };
const configFile = () => join(folder, 'mcp.json');
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'build-watch-')));
  mkdirSync(join(folder, 'mine/src'), { recursive: true });
  writeFileSync(join(folder, 'mine/package.json'), '{}');
  writeFileSync(configFile(), JSON.stringify({ servers: { mine: { build: './mine' } } }));
  config = await loadConfig(configFile(), { env: {}, home: folder });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Creates a watch with file events of the test. `changed` resolves at the next change that the watch reports. */
async function watching() {
  let next = Promise.withResolvers<void>();
  const armed = Promise.withResolvers<void>();
  const folders: string[] = [];
  const events = new Map<string, () => void>();
  const watch = createBuildWatch(
    {
      clock: systemClock,
      log: silent,
      async onChange() {
        next.resolve();
        next = Promise.withResolvers();
      },
      watchFolder(path, onEvent) {
        folders.push(path);
        events.set(path, onEvent);
        armed.resolve();
        return { [Symbol.dispose]: () => void events.delete(path) };
      },
    },
    { quietMs: 1 },
  );
  watch.follow(config);
  await armed.promise;
  return {
    watch,
    events,
    /** Watched folders, one for each watch. */
    folders,
    changed: () => next.promise,
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
}

test('a change of a file in a subfolder is reported, and new folders are watched', async () => {
  await using opened = await watching();
  const changed = opened.changed();
  mkdirSync(join(folder, 'mine/src/deep'));
  writeFileSync(join(folder, 'mine/src/deep/a.js'), 'one');
  opened.events.get(join(folder, 'mine/src'))?.();
  await changed;
  const again = opened.changed();
  writeFileSync(join(folder, 'mine/src/deep/a.js'), 'two');
  opened.events.get(join(folder, 'mine/src/deep'))?.();
  await again;
});

test('a change of a file that is not in the image is not reported', async () => {
  await using opened = await watching();
  let isReported = false;
  const changed = opened.changed().then(() => {
    isReported = true;
  });
  writeFileSync(join(folder, 'mine/.env'), 'A=1');
  opened.events.get(join(folder, 'mine'))?.();
  await new Promise<void>(resolve => void systemClock.after(50, resolve));
  assert.equal(isReported, false);
  writeFileSync(join(folder, 'mine/a.js'), 'one');
  opened.events.get(join(folder, 'mine'))?.();
  await changed;
});

test('a folder that cannot be built is watched until it can be, and so is its parent', async () => {
  rmSync(join(folder, 'mine'), { recursive: true });
  config = await loadConfig(configFile(), { env: {}, home: folder });
  await using opened = await watching();
  assert.deepEqual([...opened.events.keys()].toSorted(), [folder, join(folder, 'mine')]);
  const changed = opened.changed();
  mkdirSync(join(folder, 'mine'));
  writeFileSync(join(folder, 'mine/package.json'), '{}');
  opened.events.get(folder)?.();
  await changed;
});

test('a change between the reading of the config and the start of the watch is reported', async () => {
  writeFileSync(join(folder, 'mine/src/a.js'), 'one');
  const reported = Promise.withResolvers<void>();
  let reports = 0;
  const watch = createBuildWatch(
    {
      clock: systemClock,
      log: silent,
      async onChange() {
        reports++;
        config = await loadConfig(configFile(), { env: {}, home: folder });
        watch.follow(config);
        reported.resolve();
      },
      watchFolder: () => ({ [Symbol.dispose]: () => {} }),
    },
    { quietMs: 1 },
  );
  watch.follow(config);
  await reported.promise;
  watch.follow(config);
  await new Promise<void>(resolve => void systemClock.after(50, resolve));
  await watch[Symbol.asyncDispose]();
  assert.equal(reports, 1, 'the config has what the folder has now');
});

test('a folder that is replaced by another of the same name is watched again', async () => {
  await using opened = await watching();
  const changed = opened.changed();
  const src = join(folder, 'mine/src');
  rmSync(src, { recursive: true });
  mkdirSync(src);
  writeFileSync(join(src, 'a.js'), 'one');
  opened.events.get(join(folder, 'mine'))?.();
  await changed;
  const watches = opened.folders.filter(one => one === src);
  assert.equal(watches.length, 2, 'events of the old folder are not those of the new');
  assert.ok(opened.events.has(src));
});

test('nothing is watched once the config builds nothing', async () => {
  await using opened = await watching();
  opened.watch.follow({ servers: [] });
  await opened.watch[Symbol.asyncDispose]();
  assert.equal(opened.events.size, 0);
});
