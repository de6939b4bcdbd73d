import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caller } from '#helpers/principal';
import { requireAllowedPath } from '../../hub/repositories/allowed-folders.ts';
import { failureOf } from './harness.ts';

const owner = { ...caller, grants: { administer: true } };
let home = '';
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'allowed-')));
  mkdirSync(join(home, 'projects/app'), { recursive: true });
  mkdirSync(join(home, 'projects-old/app'), { recursive: true });
  mkdirSync(join(home, 'private'));
  symlinkSync('../private', join(home, 'projects/out'));
  symlinkSync('projects', join(home, 'work'));
});
afterAll(() => {
  rmSync(home, { recursive: true });
});

const asCaller = (path: string, folders: readonly string[]) =>
  requireAllowedPath(
    join(home, path),
    caller,
    folders.map(each => join(home, each)),
  );

test('an allowed folder, and what is in it, may be named', async () => {
  expect(await asCaller('projects', ['projects'])).toBe(join(home, 'projects'));
  expect(await asCaller('projects/app', ['nothing', 'projects'])).toBe(join(home, 'projects/app'));
});

test('links in the path and in the allowed folders are resolved before the comparison', async () => {
  expect(await asCaller('work/app', ['projects'])).toBe(join(home, 'projects/app'));
  expect(await asCaller('projects/app', ['work'])).toBe(join(home, 'projects/app'));
  expect(await failureOf(asCaller('projects/out', ['projects']))).toBe(
    `HUB_PATH_REFUSED: "${join(home, 'projects/out')}", where a link leads: it is not in a folder that "repositories" in the config names. Add the folder that holds it to "repositories", or use the owner's key`,
  );
});

test.each(['projects-old/app', 'private', '.', 'projects/../private', 'private/nothing'])(
  '%j must not be named',
  async path => {
    expect(await failureOf(asCaller(path, ['projects']))).toContain('HUB_PATH_REFUSED');
  },
);

test('without allowed folders only an administrator may name one', async () => {
  expect(await failureOf(asCaller('projects', []))).toContain(
    '"repositories" in the config names no folder',
  );
  const path = join(home, 'private');
  expect(await requireAllowedPath(path, owner, [])).toBe(path);
});

test('only callers with access learn that a path does not exist', async () => {
  expect(await failureOf(asCaller('projects/none', ['projects']))).toContain(
    'HUB_REPOSITORY_UNKNOWN',
  );
  expect(await failureOf(requireAllowedPath(join(home, 'none'), owner, []))).toContain(
    'it does not exist. Check the path',
  );
  expect(await failureOf(requireAllowedPath(join(home, 'none'), owner, [], true))).toContain(
    'it does not exist. The hub runs in a container, and sees only folders below AGENTHUB_MOUNT_ROOT: start it with compose/mounts.yml, or check the path. Write both without symbolic links, as realpath prints them',
  );
});

test('a refusal is the same, whether or not the path exists', async () => {
  mkdirSync(join(home, 'private/there'));
  for (const [name, target] of [
    ['to-there', '../private/there'],
    ['to-gone', '../private/gone'],
    ['to-gone-by-link', 'to-gone'],
    ['inside', 'app/none'],
    ['circle', 'circle'],
  ] as const)
    symlinkSync(target, join(home, 'projects', name));
  const refusal = async (path: string) =>
    (await failureOf(asCaller(path, ['projects']))).replace(join(home, path), 'PATH');
  // A link outside the allowed folders; the loop below also uses links inside them.
  symlinkSync('private', join(home, 'outer'));
  for (const [there, ...gone] of [
    ['outer/there', 'outer/gone', 'nowhere/gone'],
    ['projects/to-there', 'projects/to-gone', 'projects/to-gone-by-link'],
    ['projects/out/there', 'projects/out/gone', 'projects/out/gone/more'],
  ] as const) {
    const expected = await refusal(there);
    expect(expected).toContain('HUB_PATH_REFUSED');
    for (const path of gone) expect([path, await refusal(path)]).toEqual([path, expected]);
  }
  for (const path of ['private/there/../..', 'private/gone/../..'])
    expect(
      await requireAllowedPath(`${home}/${path}/projects/app`, caller, [join(home, 'projects')]),
    ).toBe(join(home, 'projects/app'));
  for (const path of ['projects/inside', 'projects/inside/more', 'projects/circle'])
    expect(await refusal(path)).toContain('HUB_REPOSITORY_UNKNOWN');
});

test('a relative path is refused', async () => {
  expect(await failureOf(requireAllowedPath('projects', owner, []))).toContain(
    '"projects" is not an absolute path',
  );
});
