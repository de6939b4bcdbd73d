import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { checkSource, parseMountRoots, resolveSource } from '../../hub/broker/mounts.ts';

let top = '';
let root = '';

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'broker-mounts-')));
  root = join(top, 'root');
  await mkdir(join(root, 'inner'), { recursive: true });
  await mkdir(join(top, 'root-beside'));
  await writeFile(join(root, 'file'), '');
  await symlink('/', join(root, 'to-slash'));
  await symlink('/var/run/docker.sock', join(root, 'to-socket'));
  await symlink('../root-beside', join(root, 'to-beside'));
  await symlink('inner', join(root, 'to-inner'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
});

afterAll(() => rm(top, { recursive: true, force: true }));

describe('the source of a mount', () => {
  test('is the named folder or file, below a root', async () => {
    for (const source of [root, join(root, 'inner'), join(root, 'file')]) {
      assert.equal(await resolveSource(source, [root]), source);
    }
  });

  test('is the target of a link, if that is below a root', async () => {
    assert.equal(await resolveSource(join(root, 'to-inner'), [root]), join(root, 'inner'));
    const beside = join(top, 'root-beside');
    assert.equal(await resolveSource(join(root, 'to-beside'), [root, beside]), beside);
  });

  test('may be a root as a whole, even where the broker cannot see it', async () => {
    assert.equal(await resolveSource('/not/here', ['/not/here']), '/not/here');
    await assert.rejects(resolveSource('/not/here/x', ['/not/here']), /the broker cannot see it/);
  });
});

describe('a mount is refused', () => {
  test.each([
    [
      'below no root',
      '/etc',
      /not below a mount root \(roots: .*\)\. Set AGENTHUB_MOUNT_ROOT .* -f compose\/mounts\.yml/,
    ],
    ['of what no root may hold', '/proc/1', /not below a mount root [^)]*\)$/],
    ['beside a root whose name it begins with', '-beside', /not below a mount root/],
    ['of a link out of the root', '/to-slash', /leads to "\/"/],
    ['through a link out of the root', '/to-slash/etc', /leads to "\/etc"/],
    ['of a link to the socket', '/to-socket', /leads to|cannot see it/],
    ['of a link to the folder beside', '/to-beside', /leads to/],
    ['of what is not there', '/nothing', /not there/],
    ['of a pipe', '/pipe', /neither a folder nor a file/],
  ])('%s', async (_, source, message) => {
    const path = ['/etc', '/proc/1'].includes(source) ? source : `${root}${source}`;
    await assert.rejects(resolveSource(path, [root]), { code: 'HUB_BROKER_REFUSED', message });
  });

  test('of the data of the engine, or of a folder that contains it', async () => {
    for (const source of [root, join(root, 'inner'), join(root, 'to-inner')])
      await assert.rejects(resolveSource(source, [root], join(root, 'inner')), {
        code: 'HUB_BROKER_REFUSED',
        message: /the engine keeps its data in ".*\/inner"/,
      });
    await assert.rejects(resolveSource('/not/here', ['/not/here'], '/not/here/docker'), {
      code: 'HUB_BROKER_REFUSED',
    });
    const file = join(root, 'file');
    assert.equal(await resolveSource(file, [root], join(root, 'inner')), file);
    await assert.rejects(checkSource(join(root, 'inner'), [root], root), /keeps its data/);
  });

  test('where no root is configured', async () => {
    await assert.rejects(resolveSource(root, []), /none is configured/);
  });
});

describe('a checked source is checked again', () => {
  test('and admitted if it is unchanged, also where a root is a link', async () => {
    const linked = join(top, 'linked');
    await symlink(root, linked);
    for (const source of [join(linked, 'inner'), linked])
      await checkSource(await resolveSource(source, [linked]), [linked]);
  });

  test('and refused if a link has taken its place', async () => {
    const swapped = join(root, 'swapped');
    await mkdir(swapped);
    const source = await resolveSource(swapped, [root]);
    await rename(swapped, join(root, 'moved'));
    await symlink('inner', swapped);
    await assert.rejects(checkSource(source, [root]), /has become a link to ".*inner"/);
    await rm(swapped);
    await symlink('/etc', swapped);
    await assert.rejects(checkSource(source, [root]), /leads to "\/etc"/);
    await rm(swapped);
    await assert.rejects(checkSource(source, [root]), /it is not there/);
  });
});

test.each([
  '/',
  '/run',
  '/var',
  '/var/run/docker.sock',
  '/proc/1/root',
  'srv',
  '/srv/',
  '/srv/..',
  '/var/lib/docker/volumes',
])('%s cannot be a root', path => {
  assert.throws(() => parseMountRoots(['/srv', path]), { code: 'HUB_CONFIG_INVALID' });
});
