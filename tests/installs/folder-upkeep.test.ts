import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { LaunchSpec } from '#runtimes';
import { createFolderUpkeep } from '../../hub/installs/folder-upkeep.ts';
import { temporary } from '../config/editing.ts';

const specOf = (server: string): LaunchSpec => ({
  server,
  env: {},
  maxLineBytes: 1,
  maxWaitingBytes: 1,
  target: { kind: 'process', command: 'x', args: [] },
});

test('the folder of a server is its own once it exists, and is removed completely', async () => {
  await using data = await temporary();
  const upkeep = createFolderUpkeep(data.path);
  const folder = { kind: 'folder', name: join(data.path, 'servers', 'one') } as const;
  assert.deepEqual(await upkeep.candidates(specOf('one')), [folder]);
  assert.deepEqual(await upkeep.belongings(specOf('one')), []);
  await mkdir(join(folder.name, 'deep'), { recursive: true });
  await writeFile(join(data.path, 'servers', 'file'), '');
  assert.deepEqual(await upkeep.belongings(specOf('one')), [folder]);
  assert.deepEqual(await upkeep.belongings(specOf('file')), [], 'a file is not a folder');
  await upkeep.discard(folder);
  assert.deepEqual(await upkeep.belongings(specOf('one')), []);
  await upkeep.discard(folder);
});

describe('what is not a folder of a server is not removed:', () => {
  test.for([
    '',
    '.',
    '..',
    'servers',
    'servers/',
    'servers/one/deep',
    'servers/..',
    'servers/../other',
    '/',
  ])('%j', async path => {
    await using data = await temporary();
    await mkdir(join(data.path, 'servers/one/deep'), { recursive: true });
    const name = path === '/' ? path : `${data.path}/${path}`;
    await assert.rejects(createFolderUpkeep(data.path).discard({ kind: 'folder', name }), {
      code: 'HUB_INTERNAL',
    });
    assert.ok(existsSync(join(data.path, 'servers/one/deep')));
  });

  test('a volume by the name of a folder', async () => {
    await using data = await temporary();
    const name = join(data.path, 'servers', 'one');
    await mkdir(name, { recursive: true });
    await assert.rejects(createFolderUpkeep(data.path).discard({ kind: 'volume', name }));
    assert.ok(existsSync(name));
  });
});
