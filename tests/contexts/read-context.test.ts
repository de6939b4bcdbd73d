import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, test } from 'vitest';
import { readContext } from '../../hub/contexts/read-context.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'context-'));
  write('package.json', '{}');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text = ''): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const pathsOf = async () => (await readContext(folder)).files.map(({ path }) => path);
const digestOf = async () => (await readContext(folder)).digest;

test('all files of a folder are included, except those of .dockerignore and of tools', async () => {
  for (const path of ['src/a.ts', 'src/.hidden', 'data/big', 'data/keep', '.git/config'])
    write(path);
  for (const path of ['node_modules/x/index.js', 'sub/node_modules/y.js', '.venv/bin/python'])
    write(path);
  write('.dockerignore', '# data is mounted\ndata\n!data/keep\n');
  const { kind, folders, leftOut } = await readContext(folder);
  assert.equal(kind, 'npm');
  assert.deepEqual(await pathsOf(), [
    '.dockerignore',
    'data/keep',
    'package.json',
    'src/.hidden',
    'src/a.ts',
  ]);
  assert.ok(folders.includes(join(folder, 'src')));
  assert.deepEqual(leftOut, []);
});

test('files that the build needs are included whatever .dockerignore says', async () => {
  write('.dockerignore', '*\n!src');
  write('src/a.ts');
  write('package-lock.json');
  assert.deepEqual(await pathsOf(), ['package-lock.json', 'package.json', 'src/a.ts']);
  write('Dockerfile', 'FROM x');
  assert.deepEqual(await pathsOf(), ['.dockerignore', 'Dockerfile', 'src/a.ts']);
});

test('secrets are left out whatever .dockerignore says, and reported', async () => {
  for (const path of ['.env', 'config/.env.local', '.npmrc', '.env.example']) write(path, 'A=1');
  write('key.pem', `-----BEGIN ${'PRIVATE'} KEY-----`);
  write('.dockerignore', '!.env\n!**');
  const { leftOut } = await readContext(folder);
  assert.deepEqual(leftOut.map(({ path }) => path).toSorted(), [
    '.env',
    '.npmrc',
    'config/.env.local',
    'key.pem',
  ]);
  assert.deepEqual(await pathsOf(), ['.dockerignore', '.env.example', 'package.json']);
});

test('links within the folder are included as links, and no other is followed', async () => {
  write('src/a.ts', 'text');
  symlinkSync('src/a.ts', join(folder, 'inside'));
  symlinkSync('/etc/passwd', join(folder, 'absolute'));
  symlinkSync('../..', join(folder, 'above'));
  symlinkSync('none', join(folder, 'dangling'));
  symlinkSync('..', join(folder, 'src/up'));
  // This link leads out of the folder by way of another link.
  symlinkSync('above/etc', join(folder, 'twice'));
  const { files, leftOut } = await readContext(folder);
  const links = files.filter(({ link }) => link !== undefined).map(({ path }) => path);
  assert.deepEqual(links, ['inside', 'src/up']);
  assert.deepEqual(leftOut.map(({ path, why }) => `${why} ${path}`).toSorted(), [
    'link above',
    'link absolute',
    'link dangling',
    'link twice',
  ]);
});

test('.dockerignore is read only if it is in the folder and of bounded size', async () => {
  write('src/a.ts');
  write('ignored', 'src\n');
  symlinkSync('ignored', join(folder, '.dockerignore'));
  assert.deepEqual(await pathsOf(), ['.dockerignore', 'ignored', 'package.json']);
  const outside = mkdtempSync(join(tmpdir(), 'context-outside-'));
  try {
    writeFileSync(join(outside, 'rules'), 'src\n');
    rmSync(join(folder, '.dockerignore'));
    symlinkSync(join(outside, 'rules'), join(folder, '.dockerignore'));
    await assert.rejects(readContext(folder), /holds a \.dockerignore that leads out of it/);
  } finally {
    rmSync(outside, { recursive: true });
  }
  rmSync(join(folder, '.dockerignore'));
  write('.dockerignore', '#'.repeat(64 * 1024 + 1));
  await assert.rejects(readContext(folder), /holds a \.dockerignore of more than 64 KiB/);
});

test('the digest changes with content, names, modes and links, and with nothing else', async () => {
  const digests = [await digestOf()];
  const note = async () => digests.push(await digestOf());
  write('a.js', 'one');
  await note();
  write('a.js', 'two');
  await note();
  chmodSync(join(folder, 'a.js'), 0o755);
  await note();
  symlinkSync('a.js', join(folder, 'b.js'));
  await note();
  rmSync(join(folder, 'b.js'));
  symlinkSync('package.json', join(folder, 'b.js'));
  await note();
  assert.equal(new Set(digests).size, digests.length);
  write('.env', 'A=1');
  write('node_modules/x.js');
  assert.equal(await digestOf(), digests.at(-1));
});

test('too many files, or too many bytes, are refused with a remedy', async () => {
  for (const name of ['a', 'b', 'c']) write(name, 'x'.repeat(100));
  await assert.rejects(
    readContext(folder, { files: 3, bytes: 2 ** 20 }),
    /more than 3 files. List/,
  );
  await assert.rejects(readContext(folder, { files: 9, bytes: 250 }), /more than .* MiB. List/);
});

test('a folder that is absent or has no files to build is reported', async () => {
  await assert.rejects(readContext(join(folder, 'none')), /cannot be read: ENOENT/);
  rmSync(join(folder, 'package.json'));
  await assert.rejects(readContext(folder), /holds no Dockerfile/);
});

test('a file, link or folder that vanishes while the folder is read is left out', async () => {
  const kinds = [
    (name: string) => write(name),
    (name: string) => symlinkSync('package.json', join(folder, name)),
    (name: string) => mkdirSync(join(folder, name)),
  ];
  for (const make of kinds) {
    const names = Array.from({ length: 300 }, (_, at) => `temporary-${at}`);
    for (const name of names) make(name);
    let isDone = false;
    const reading = readContext(folder).finally(() => (isDone = true));
    // Editors and tools remove files at any time. Here they vanish one by one while the folder is read.
    for (const name of names.toReversed()) {
      if (!isDone) await nextTurn();
      rmSync(join(folder, name), { recursive: true });
    }
    const { files, leftOut } = await reading;
    assert.ok(files.some(({ path }) => path === 'package.json'));
    assert.deepEqual(leftOut, []);
  }
});

test.runIf(process.platform === 'linux')(
  'a folder that a link replaces while the context is read leads nowhere else',
  async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(outside, 'notes.txt'), 'private');
    try {
      const names = Array.from({ length: 300 }, (_, at) => `folder-${at}`);
      for (const name of names) write(`${name}/inner/file.txt`);
      let isDone = false;
      const reading = readContext(folder).finally(() => (isDone = true));
      for (const name of names.toReversed()) {
        if (!isDone) await nextTurn();
        rmSync(join(folder, name), { recursive: true });
        symlinkSync(outside, join(folder, name));
      }
      const { files, leftOut } = await reading;
      assert.deepEqual(
        files.filter(({ content }) => content.includes('private')),
        [],
      );
      assert.ok(leftOut.every(({ why }) => why === 'link'));
    } finally {
      rmSync(outside, { recursive: true });
    }
  },
);

test.skipIf(process.getuid?.() === 0)(
  'a file that cannot be read is named by its path',
  async () => {
    write('sub/closed.txt');
    chmodSync(join(folder, 'sub', 'closed.txt'), 0);
    await assert.rejects(readContext(folder), {
      message: `EACCES: permission denied, open '${join(folder, 'sub', 'closed.txt')}'`,
    });
  },
);
