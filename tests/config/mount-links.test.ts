import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { loadConfig } from '#config';
import { examineMounts } from '../../hub/config/mount-links.ts';

let top = '';
const at = (path: string) => join(top, path);

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-links-')));
  await mkdir(at('work/app/docs'), { recursive: true });
  await mkdir(at('private'));
  await symlink('work', at('own-link'));
});
afterEach(async () => await rm(top, { recursive: true, force: true }));

/** Reads a config of two servers: `writer` may write to the folder `work`, `reader` has the given mount. */
async function read(mount: string, writer: object = {}) {
  const file = at('hub.json');
  const config = {
    servers: {
      writer: { image: 'any:1', mounts: [`${at('work')}:/work:rw`], ...writer },
      reader: { image: 'any:1', mounts: [`${at(mount)}:/docs`] },
    },
  };
  await writeFile(file, JSON.stringify(config));
  const { servers } = await loadConfig(file, { env: {}, home: top });
  const reader = servers.find(({ name }) => name === 'reader');
  assert.ok(reader);
  return { examine: async () => await examineMounts(reader, servers) };
}

const replaceByLink = async (path: string) => {
  await rename(at(path), at(`${path}-aside`));
  await symlink(at('private'), at(path));
};

describe('a server that may write to a folder above a mount', () => {
  test.for(['work/app/docs', 'work/app'])(
    'cannot have a link to another folder mounted in place of %s',
    async path => {
      const { examine } = await read('work/app/docs');
      assert.equal((await examine()).fault, undefined);
      await mkdir(at('private/docs'));
      await replaceByLink(path);
      const { fault } = await examine();
      assert.match(fault ?? '', /work\/app\/docs leads to .*\/private.* now/);
    },
  );

  test('cannot have the link mounted after the config is read again', async () => {
    await replaceByLink('work/app/docs');
    const { fault } = await (await read('work/app/docs')).examine();
    assert.match(
      fault ?? '',
      /through the link .*\/work\/app\/docs, which writer may have created/,
    );
  });

  test.for(['work/app/docs', 'work/app'])(
    'is noticed when it puts %s back before the next look',
    async path => {
      const { examine } = await read('work/app/docs');
      const before = await examine();
      await replaceByLink(path);
      await rm(at(path));
      await rename(at(`${path}-aside`), at(path));
      const after = await examine();
      assert.equal(after.fault, undefined);
      assert.notEqual(after.state, before.state);
    },
  );
});

describe('a mount is examined without a fault', () => {
  test('if only the user can have created the link on its path', async () => {
    assert.equal((await (await read('own-link/app')).examine()).fault, undefined);
  });

  test.for([{ enabled: false }, { mounts: [] }])(
    'if the server beside it is %o, and its state does not change',
    async writer => {
      await replaceByLink('work/app/docs');
      const { examine } = await read('work/app/docs', writer);
      const before = await examine();
      assert.equal(before.fault, undefined);
      await writeFile(at('work/new'), '');
      assert.deepEqual(await examine(), before);
    },
  );

  test('if it does not exist yet', async () => {
    assert.equal((await (await read('later/folder')).examine()).fault, undefined);
  });
});
