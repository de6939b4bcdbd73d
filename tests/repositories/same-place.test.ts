import { renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { caller } from '#helpers/principal';
import { type Runner, createScene, failureOf, readText, signal } from './harness.ts';
import { engineAvailable } from '#helpers/engine';

const runners: readonly Runner[] = engineAvailable() ? ['docker', 'process'] : ['process'];

test.runIf(process.platform === 'linux').each(runners)(
  'a folder that is replaced by a link before a %s begins is not opened',
  async runner => {
    let swap = () => {};
    await using scene = createScene(runner, () => swap());
    const path = scene.create();
    const other = scene.create({ 'b.txt': 'two\n' });
    const moved = join(dirname(path), 'moved');
    swap = () => {
      swap = () => {};
      renameSync(path, moved);
      symlinkSync(other, path);
    };
    const why = /^HUB_(?:PATH_REFUSED: .* was replaced by another folder|GIT_FAILED)/;
    expect(await failureOf(scene.open(path))).toMatch(why);
    unlinkSync(path);
    renameSync(moved, path);
    expect(await (await scene.open(path)).summary(signal)).toMatchObject({ branch: 'main' });
    await using folder = await scene.repositories.openFolder(path, caller, signal);
    expect(folder.root).toBe(path);
    expect((await folder.list(signal)).includes('a.txt')).toBe(true);
    // The repository is replaced by another one, as a new clone does.
    renameSync(path, moved);
    renameSync(other, path);
    await using again = await scene.repositories.openFolder(path, caller, signal);
    expect(await readText(again, 'b.txt')).toBe('two\n');
  },
);
