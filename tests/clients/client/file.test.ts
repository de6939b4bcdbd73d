import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  readFile,
  readdir,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { writeWhole } from '#store';
import {
  backupsOf,
  exists,
  readExactly,
  writeBack,
  writeWithBackup,
} from '../../../hub/clients/client/file.ts';
import { temporary } from '../../config/editing.ts';

/** Creates a folder with one file in it. */
async function open(text: string) {
  const folder = await temporary();
  const file = join(folder.path, 'a.json');
  await writeFile(file, text);
  return {
    file,
    folder: folder.path,
    names: async () => (await readdir(folder.path)).sort(),
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  };
}

describe('a file that is read', () => {
  test('keeps its byte order mark and its line breaks', async () => {
    await using at = await open('\uFEFF{}\r\n');
    assert.equal(await readExactly(at.file), '\uFEFF{}\r\n');
  });

  test('and does not exist, is undefined', async () => {
    await using at = await open('');
    assert.equal(await readExactly(join(at.folder, 'none')), undefined);
    assert.equal(await exists(join(at.folder, 'none')), false);
    assert.equal(await exists(at.file), true);
  });

  test('and is not UTF-8, a folder, a pipe, too large or in no folder, is refused', async () => {
    await using at = await open('');
    await writeFile(at.file, Buffer.from([0x7b, 0xff, 0x7d]));
    const huge = join(at.folder, 'huge');
    await writeFile(huge, '');
    await truncate(huge, 256 * 1024 * 1024 + 1);
    const pipe = join(at.folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const [path, message] of [
      [at.file, `${at.file}: it is not UTF-8. Save it as UTF-8`],
      [at.folder, `${at.folder}: it is a folder. Name a file in it`],
      [pipe, `${pipe}: it is a pipe or a device. Use a regular file`],
      [huge, `${huge}: it is larger than 268435456 bytes`],
      [join(at.file, 'x'), /it cannot be read \(ENOTDIR.*\)\. Let this user read it$/],
    ] as const)
      await assert.rejects(readExactly(path), { code: 'HUB_CONFIG_INVALID', message });
  });
});

describe('a backup', () => {
  test('has the number after the last one, and the mode of the file', async () => {
    await using at = await open('old');
    await chmod(at.file, 0o640);
    await writeFile(`${at.file}.agenthub-backup-9`, '');
    await writeFile(`${at.file}.agenthub-backup-10`, '');
    const change = { file: at.file, before: 'old', after: 'new' };
    const backup = await writeWithBackup(change, writeWhole);
    assert.equal(backup, `${at.file}.agenthub-backup-11`);
    assert.equal(await readFile(backup, 'utf8'), 'old');
    assert.equal((await stat(backup)).mode & 0o777, 0o640);
    assert.equal(await readFile(at.file, 'utf8'), 'new');
  });

  test('is listed newest first, and other files and non-text files are not', async () => {
    await using at = await open('');
    for (const name of ['a.json', 'ba.json', 'a.json5'])
      for (const number of ['2', '10', '0', '01', '1x', ''])
        await writeFile(join(at.folder, `${name}.agenthub-backup-${number}`), number);
    await writeFile(`${at.file}.agenthub-backup-11`, Buffer.from([0xff]));
    await mkdir(`${at.file}.agenthub-backup-12`);
    assert.deepEqual(await backupsOf(at.file), [
      { path: `${at.file}.agenthub-backup-10`, text: '10' },
      { path: `${at.file}.agenthub-backup-2`, text: '2' },
    ]);
    assert.deepEqual(await backupsOf(join(at.folder, 'none', 'a.json')), []);
  });

  test('is one of 99 at most', async () => {
    await using at = await open('old');
    for (let number = 1; number <= 98; number++)
      await writeFile(`${at.file}.agenthub-backup-${number}`, '');
    await writeWithBackup({ file: at.file, before: 'old', after: 'new' }, writeWhole);
    await assert.rejects(
      writeWithBackup({ file: at.file, before: 'new', after: 'newer' }, writeWhole),
      {
        code: 'HUB_CONFIG_UNWRITABLE',
        message: /there are 99 backups of it already \(.*a\.json\.agenthub-backup-\*\)/,
      },
    );
    assert.equal(await readFile(at.file, 'utf8'), 'new');
  });

  test('is removed if the file has changed meanwhile, and the file stays', async () => {
    await using at = await open('theirs');
    await assert.rejects(
      writeWithBackup({ file: at.file, before: 'old', after: 'new' }, writeWhole),
      { code: 'HUB_CONFIG_CONFLICT' },
    );
    assert.equal(await readFile(at.file, 'utf8'), 'theirs');
    assert.deepEqual(await at.names(), ['a.json']);
  });
});

test('a file that did not exist is made with its folder, and without a backup', async () => {
  await using at = await open('');
  const file = join(at.folder, 'new', 'b.json');
  assert.equal(
    await writeWithBackup({ file, before: undefined, after: 'x' }, writeWhole),
    undefined,
  );
  assert.equal(await readFile(file, 'utf8'), 'x');
  assert.deepEqual(await readdir(join(at.folder, 'new')), ['b.json']);
});

describe('a file that is to be removed', () => {
  test('stays if it has changed meanwhile', async () => {
    await using at = await open('theirs');
    await assert.rejects(
      writeBack({ file: at.file, before: 'ours', after: undefined }, writeWhole),
      { code: 'HUB_CONFIG_CONFLICT' },
    );
    assert.equal(await readFile(at.file, 'utf8'), 'theirs');
  });

  test('leaves a link that led to it', async () => {
    await using at = await open('ours');
    const link = join(at.folder, 'link.json');
    await symlink('a.json', link);
    await writeBack({ file: link, before: 'ours', after: undefined }, writeWhole);
    assert.ok((await lstat(link)).isSymbolicLink());
    assert.deepEqual(await at.names(), ['link.json']);
  });
});
