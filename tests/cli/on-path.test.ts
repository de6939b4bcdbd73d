import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import manifest from '../../package.json' with { type: 'json' };
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'vitest';
import { temporary } from '../config/editing.ts';
import { pathCommand } from '../../hub/cli/on-path.ts';

const program = {
  node: process.execPath,
  folder: '/',
  platform: 'linux',
  version: '1.2.3',
} as const;

test('a clone that an older Node runs by a link uses its bundled Node', () => {
  const older = "data:text/javascript,Object.defineProperty(process,'version',{value:'v20.19.0'})";
  const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
  const words = ['--import', older, bin, 'version'];
  assert.equal(execFileSync(process.execPath, words).toString(), `${manifest.version}\n`);
});

describe('the command that puts agenthub on the PATH', () => {
  test('links it into the first existing folder of the user, and is not shown afterwards', async () => {
    await using home = await temporary();
    const bin = join(home.path, '.local', 'bin');
    const script = join(home.path, "a clone's", 'bin', 'agenthub.mjs');
    for (const folder of [bin, dirname(script)]) await mkdir(folder, { recursive: true });
    await writeFile(script, '#!/bin/sh\necho "$0"\n', { mode: 0o755 });
    const about = { ...program, script, home: home.path, env: { PATH: `/usr/bin:${bin}` } };
    const command = pathCommand(about);
    assert.ok(command?.startsWith('ln -sf '), command);
    execFileSync('sh', ['-euc', command ?? '']);
    assert.match(execFileSync(join(bin, 'agenthub')).toString(), /agenthub\n$/);
    assert.equal(pathCommand(about), undefined);
  });

  test('needs root if the user owns no folder of the PATH', async () => {
    await using home = await temporary();
    await mkdir(join(home.path, 'bin'));
    await symlink('/elsewhere', join(home.path, 'bin', 'agenthub'));
    const about = { ...program, script: '/c/bin/agenthub.mjs', home: home.path };
    const links = pathCommand({ ...about, env: { PATH: '/none' } });
    assert.equal(links, 'sudo ln -sf /c/bin/agenthub.mjs /usr/local/bin/agenthub');
    const inHome = pathCommand({ ...about, env: { PATH: join(home.path, 'bin') } });
    assert.equal(inHome, `ln -sf /c/bin/agenthub.mjs ${join(home.path, 'bin', 'agenthub')}`);
  });

  test('installs it if npx or Windows runs it', () => {
    const home = '/home/ada';
    const script = '/home/ada/.npm/_npx/1a/node_modules/agenthub/bin/agenthub.mjs';
    assert.equal(
      pathCommand({ ...program, script, home, env: {} }),
      'npm install --global agenthub@1.2.3',
    );
    const windows = { ...program, platform: 'win32', home, env: {} } as const;
    const command = pathCommand({ ...windows, script: join('/c', 'bin', 'agenthub.mjs') });
    assert.equal(command, 'npm install --global "/c"');
  });
});
