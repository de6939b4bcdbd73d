import { execFileSync } from 'node:child_process';
import { renameSync, symlinkSync } from 'node:fs';
import { link, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTempFolder } from '#helpers/temp-folder';
import { createAgentFiles } from '../../hub/agents/agent-files.ts';

async function makeWorkspace() {
  const folder = makeTempFolder('files');
  const workspace = join(folder, 'workspace');
  await mkdir(join(workspace, 'deep', 'er'), { recursive: true });
  await writeFile(join(workspace, 'a.txt'), 'hello');
  await writeFile(join(workspace, 'deep', 'er', 'b.txt'), 'x'.repeat(200_000));
  await writeFile(join(folder, 'secret'), 'key');
  await symlink('../secret', join(workspace, 'out'));
  await symlink('..', join(workspace, 'up'));
  await symlink('a.txt', join(workspace, 'same'));
  await link(join(folder, 'secret'), join(workspace, 'hard'));
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  return createAgentFiles(() => workspace);
}

test('regular files are listed with their sizes', async () => {
  const files = await makeWorkspace();
  expect(await files.list('ada')).toMatchObject([
    { path: 'a.txt', bytes: 5 },
    { path: 'deep/er/b.txt', bytes: 200_000 },
    { path: 'hard' },
  ]);
});

test('a folder that becomes a link while the workspace is listed is not followed', async () => {
  const folder = makeTempFolder('files');
  const workspace = join(folder, 'workspace');
  const last = join(workspace, 'z');
  await mkdir(last, { recursive: true });
  for (let at = 0; at < 300; at++) await mkdir(join(workspace, `a${at}`));
  await mkdir(join(folder, 'home', 'keys'), { recursive: true });
  await writeFile(join(folder, 'home', 'keys', 'secret'), 'key');
  const listing = createAgentFiles(() => workspace).list('ada');
  // Waits until the workspace itself has been read, but not its last folder.
  for (let turn = 0; turn < 10; turn++) await readdir(workspace);
  renameSync(last, `${folder}/moved`);
  symlinkSync('../home', last);
  expect(await listing).toEqual([]);
});

test('a file is read whole', async () => {
  const files = await makeWorkspace();
  await using file = await files.open('ada', 'deep/er/b.txt');
  const chunks = await Array.fromAsync(file.chunks);
  expect(Buffer.concat(chunks).toString()).toBe('x'.repeat(200_000));
});

test.each([
  '../secret',
  'deep/../../secret',
  '/etc/passwd',
  'out',
  'up/secret',
  'same',
  'hard',
  'pipe',
  'deep',
  'missing',
  '',
  'a.txt\0',
])('%j is not a file of the workspace', async path => {
  const files = await makeWorkspace();
  await expect(files.open('ada', path)).rejects.toMatchObject({ code: 'HUB_AGENT_FILE_UNKNOWN' });
});
