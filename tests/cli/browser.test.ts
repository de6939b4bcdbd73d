import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { openBrowser } from '#cli';
import { writeWhole } from '#store';

describe('the browser', () => {
  const url = 'http://localhost:9090/dashboard/login?code=secret';

  async function withOpener(script: string, program = 'xdg-open') {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-browser-'));
    await writeFile(join(folder, program), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, program), 0o755);
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  }
  const open = (folder: string, env: NodeJS.ProcessEnv, to = url) =>
    openBrowser(
      to,
      { platform: 'linux', env: { PATH: `${folder}:/usr/bin:/bin`, ...env }, folder },
      { writeWhole },
    );

  test('gets the link in a file for this user only, as other users see command lines', async () => {
    await using opener = await withOpener('echo "$@" > "$(dirname "$0")/words"');
    const { folder } = opener;
    assert.equal(await open(folder, { DISPLAY: ':0' }), true);
    const words = await readFile(join(folder, 'words'), 'utf8');
    assert.doesNotMatch(words, /secret/);
    const file = new URL(words.trim());
    assert.ok((await readFile(file, 'utf8')).includes(`content="0;url=${url}"`));
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test('is not opened without a display, over SSH, or if it cannot be started', async () => {
    await using opener = await withOpener('exit 3');
    const { folder } = opener;
    assert.equal(await open(folder, {}), false);
    assert.equal(await open(folder, { DISPLAY: ':0', SSH_CONNECTION: '10.0.0.1' }), false);
    assert.equal(await open(folder, { DISPLAY: ':0' }), false);
    assert.equal(await open(folder, { DISPLAY: ':0', PATH: '/nowhere' }), false);
  });

  test('cannot be sent to another page by a quote in the address', async () => {
    await using opener = await withOpener('exit 0');
    const { folder } = opener;
    await open(folder, { WAYLAND_DISPLAY: 'wayland-0' }, `${url}"><script>`);
    const page = await readFile(join(folder, 'open-dashboard.html'), 'utf8');
    assert.ok(page.includes(`content="0;url=${url}%22><script>"`));
  });

  test.for([
    ['darwin', 'open', []],
    ['win32', 'rundll32', ['url.dll,FileProtocolHandler']],
  ] as const)('is started on %s with %s', async ([platform, program, words]) => {
    await using opener = await withOpener('echo "$@" > "$(dirname "$0")/words"', program);
    const { folder } = opener;
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    assert.equal(await openBrowser(url, { platform, env, folder }, { writeWhole }), true);
    const [...started] = (await readFile(join(folder, 'words'), 'utf8')).trim().split(' ');
    assert.deepEqual(started.slice(0, -1), words);
    assert.match(started.at(-1) ?? '', /^file:.*open-dashboard\.html$/);
  });

  test('is not opened if the page cannot be written', async () => {
    await using opener = await withOpener('exit 0');
    const { folder } = opener;
    const env = { PATH: folder, DISPLAY: ':0' };
    const writeNothing = async () => {
      throw new Error('ENOSPC');
    };
    const opened = openBrowser(
      url,
      { platform: 'linux', env, folder },
      { writeWhole: writeNothing },
    );
    assert.equal(await opened, false);
  });
});
