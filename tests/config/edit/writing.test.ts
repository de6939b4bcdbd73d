import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { readConfig } from '#config';
import { writeWhole } from '#store';
import { createEditor, temporary } from '../editing.ts';

const empty = '{\n  "servers": {}\n}\n';
const entry = { image: 'new:1' };

const isRoot = process.getuid?.() === 0;

/** Mounts a file system. Returns undefined if this user may not mount. */
function mount(...args: readonly string[]): Disposable | undefined {
  try {
    execFileSync('mount', args, { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  const target = args.at(-1) ?? '';
  return { [Symbol.dispose]: () => void execFileSync('umount', [target]) };
}

test('mode, owner and links of the file are preserved', async ({ skip }) => {
  skip(!isRoot, 'only root gives files away');
  await using folder = await temporary();
  const target = join(folder.path, 'real', 'hub.json');
  const link = join(folder.path, 'hub.json');
  await mkdir(join(folder.path, 'real'));
  await writeFile(target, empty);
  await chmod(target, 0o664);
  await chown(target, 1234, 5678);
  await symlink('real/hub.json', link);
  await createEditor(folder.path).addServer(link, 'one', entry);
  assert.equal(await readlink(link), 'real/hub.json');
  const { mode, uid, gid } = await stat(target);
  assert.deepEqual([mode & 0o7777, uid, gid], [0o664, 1234, 5678]);
  assert.match(await readFile(target, 'utf8'), /"one"/);
  assert.deepEqual(await readdir(join(folder.path, 'real')), ['hub.json']);
});

test('concurrent edits are made one after another, and none is lost', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.yaml');
  await writeFile(file, 'servers: {}\n');
  const editor = createEditor(folder.path);
  const names = Array.from({ length: 40 }, (_, index) => `server-${index}`);
  await Promise.all(names.map(async name => await editor.addServer(file, name, entry)));
  await Promise.all(names.slice(0, 20).map(async name => await editor.removeServer(file, name)));
  const { config } = await readConfig(file, { env: {}, home: folder.path });
  assert.deepEqual(
    config?.servers.map(({ name }) => name),
    names.slice(20),
  );
});

test('edits beyond the queue are refused, with the advice to retry', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, empty);
  const editor = createEditor(folder.path);
  const edits = Array.from(
    { length: 101 },
    async (_, index) => await editor.addServer(file, `s${index}`, entry),
  );
  const outcomes = await Promise.allSettled(edits);
  const refused = outcomes.flatMap(each => (each.status === 'rejected' ? [each.reason] : []));
  assert.equal(refused.length, 1);
  assert.deepEqual([refused[0].code, refused[0].data.retryable], ['HUB_CONFIG_CONFLICT', true]);
});

describe('when somebody else writes the file meanwhile', () => {
  /** Returns a `writeWhole` that first changes the file as another program does, in each of its first `times` calls. */
  const withOther = (times: number) => {
    let left = times;
    const write: typeof writeWhole = async (file, text, check) => {
      if (left-- > 0)
        await writeFile(file, empty.replace('{}', `{"other": {"image": "o:${left}"}}`));
      await writeWhole(file, text, check);
    };
    return write;
  };

  test('up to nine times, the edit is applied to the new content', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'hub.json');
    await writeFile(file, empty);
    await createEditor(folder.path, withOther(9)).addServer(file, 'one', entry);
    const { config } = await readConfig(file, { env: {}, home: folder.path });
    assert.deepEqual(
      config?.servers.map(({ name }) => name),
      ['other', 'one'],
    );
  });

  test('ten times, the edit is refused and the new content stays', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'hub.json');
    await writeFile(file, empty);
    await assert.rejects(createEditor(folder.path, withOther(10)).addServer(file, 'one', entry), {
      code: 'HUB_CONFIG_CONFLICT',
      message: /another program is writing it/,
    });
    assert.match(await readFile(file, 'utf8'), /"other": \{"image": "o:0"/);
    assert.deepEqual(await readdir(folder.path), ['hub.json']);
  });
});

describe('a file that cannot be written is unchanged, with no file left beside it:', () => {
  test('on a full disk', async ({ skip }) => {
    await using folder = await temporary();
    using mounted = mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder.path);
    if (!mounted) return skip('this user may not mount');
    const file = join(folder.path, 'hub.json');
    await writeFile(file, empty);
    await writeFile(join(folder.path, 'fill'), Buffer.alloc(1024 * 1024)).catch(() => {});
    await assert.rejects(createEditor(folder.path).addServer(file, 'one', entry), {
      code: 'HUB_CONFIG_UNWRITABLE',
      message: `${file} cannot be written and is unchanged: the disk is full. Make room on it`,
    });
    assert.equal(await readFile(file, 'utf8'), empty);
    assert.deepEqual((await readdir(folder.path)).sort(), ['fill', 'hub.json']);
    await rm(join(folder.path, 'fill'));
    await createEditor(folder.path).addServer(file, 'one', entry);
    assert.match(await readFile(file, 'utf8'), /"one"/);
  });

  test('on a file system that is read-only', async ({ skip }) => {
    await using folder = await temporary();
    using mounted = mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder.path);
    if (!mounted) return skip('this user may not mount');
    const file = join(folder.path, 'hub.json');
    await writeFile(file, empty);
    execFileSync('mount', ['-o', 'remount,ro', folder.path]);
    await assert.rejects(createEditor(folder.path).addServer(file, 'one', entry), {
      code: 'HUB_CONFIG_UNWRITABLE',
      message: /read-only. Mount its folder writable$/,
    });
    assert.deepEqual(await readdir(folder.path), ['hub.json']);
  });

  test('mounted as a single file, as into a container', async ({ skip }) => {
    await using folder = await temporary();
    const [file, outside] = [join(folder.path, 'hub.json'), join(folder.path, 'outside.json')];
    await writeFile(file, '');
    await writeFile(outside, empty);
    using mounted = mount('--bind', outside, file);
    if (!mounted) return skip('this user may not mount');
    await assert.rejects(createEditor(folder.path).addServer(file, 'one', entry), {
      code: 'HUB_CONFIG_UNWRITABLE',
      message: /it is a mounted file, which cannot be replaced. Mount its folder/,
    });
    assert.equal(await readFile(file, 'utf8'), empty);
    assert.deepEqual((await readdir(folder.path)).sort(), ['hub.json', 'outside.json']);
  });

  test('in a folder that this user may not write', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'hub.json');
    await writeFile(file, empty);
    // Root may write everywhere, so the test throws the system's error itself.
    const refusing: typeof writeWhole = async () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    };
    await assert.rejects(createEditor(folder.path, refusing).addServer(file, 'one', entry), {
      code: 'HUB_CONFIG_UNWRITABLE',
      message:
        /this user may not write to its folder\. Grant write permission to the user with number \d+$/,
    });
  });
});
