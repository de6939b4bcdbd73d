import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { openBrowser } from '#cli';
import { type TestHub, startHub } from '#helpers/hub';
import { writeWhole } from '#store';
import { run } from '../run.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([]);
});
afterAll(() => hub[Symbol.asyncDispose]());

const link = /^http:\/\/127\.0\.0\.1:\d+\/dashboard\/login\?code=[\w-]{43}$/;

describe('open', () => {
  test('leads the browser to the dashboard, logged in, and does not show the link', async () => {
    const opened: string[] = [];
    const findHub = async () => hub.place;
    const browser = async (url: string) => opened.push(url) > 0;
    const { code, out } = await run(['open'], { findHub, openBrowser: browser });
    assert.equal(code, 0);
    assert.match(out, /^The dashboard opens in your browser\./);
    assert.doesNotMatch(out, /code=/);
    assert.match(opened[0] ?? '', link);
    const answer = await fetch(opened[0] ?? '');
    assert.match(answer.headers.get('set-cookie') ?? '', /=administer\./);
  });

  test('prints the link where there is no browser, and with --print and --json', async () => {
    const findHub = async () => hub.place;
    const none = await run(['open'], { findHub, openBrowser: async () => false });
    assert.match(none.out, link);
    assert.match((await run(['open', '--print'], { findHub })).out, link);
    const { url, expires_in_seconds: seconds } = JSON.parse(
      (await run(['open', '--json'], { findHub })).out,
    );
    assert.match(url, link);
    assert.equal(seconds, 600);
  });

  test('gets no link without the key', async () => {
    const findHub = async () => ({ url: hub.url, token: undefined });
    const { code, err } = await run(['open', '--print'], { findHub });
    assert.notEqual(code, 0);
    assert.doesNotMatch(err, /code=/);
  });
});

describe('key', () => {
  test('prints the key, for scripts', async () => {
    const findOwnerKey = async () => 'the-key';
    assert.deepEqual(await run(['key'], { findOwnerKey }), { code: 0, out: 'the-key', err: '' });
  });

  test('says what to do where there is none', async () => {
    const { code, err } = await run(['key'], { findOwnerKey: async () => undefined });
    assert.equal(code, 2);
    assert.match(err, /^no hub has created its key here\. Run this in the folder/);
  });
});

describe('the browser', () => {
  const url = 'http://localhost:9090/dashboard/login?code=secret';

  async function withOpener(script: string) {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-browser-'));
    await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'xdg-open'), 0o755);
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  }
  const open = (folder: string, env: NodeJS.ProcessEnv) =>
    openBrowser(
      url,
      { platform: 'linux', env: { PATH: `${folder}:/usr/bin:/bin`, ...env }, folder },
      { writeWhole },
    );

  test('is given a file of this user only: other users see the words of a command', async () => {
    await using opener = await withOpener('echo "$@" > "$(dirname "$0")/words"');
    const { folder } = opener;
    assert.equal(await open(folder, { DISPLAY: ':0' }), true);
    const words = await readFile(join(folder, 'words'), 'utf8');
    assert.doesNotMatch(words, /secret/);
    const file = new URL(words.trim());
    assert.ok((await readFile(file, 'utf8')).includes(`content="0;url=${url}"`));
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test('is not there without a screen, over SSH, and where it cannot be started', async () => {
    await using opener = await withOpener('exit 3');
    const { folder } = opener;
    assert.equal(await open(folder, {}), false);
    assert.equal(await open(folder, { DISPLAY: ':0', SSH_CONNECTION: '10.0.0.1' }), false);
    assert.equal(await open(folder, { DISPLAY: ':0' }), false);
    assert.equal(await open(folder, { DISPLAY: ':0', PATH: '/nowhere' }), false);
  });
});
