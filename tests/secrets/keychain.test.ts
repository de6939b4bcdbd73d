import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';

const run = promisify(execFile);
const user = join(import.meta.dirname, 'keychain-user.ts');
const isInstalled = ['/usr/bin/dbus-run-session', '/usr/bin/gnome-keyring-daemon'].every(file =>
  existsSync(file),
);

const unlocked = `printf %s "$PASSWORD" | gnome-keyring-daemon --unlock --components=secrets >/dev/null`;
const locked = 'gnome-keyring-daemon --start --components=secrets >/dev/null';

/** Runs `keychain-user.ts` in its own D-Bus session, which ends with it. */
async function inSession(folder: string, begin: string, action: string, password = 'right') {
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_RUNTIME_DIR: folder,
    PASSWORD: password,
  };
  const line = `${begin}; exec "${process.execPath}" "${user}" "${folder}" ${action}`;
  const { stdout } = await run('dbus-run-session', ['--', 'sh', '-c', line], {
    env,
    timeout: 60_000,
  });
  return JSON.parse(stdout);
}

const temporary = () => mkdtempDisposable(join(tmpdir(), 'agenthub-keychain-'));
const suite = () => {
  test('stores a secret for later sessions, and not in the data folder', async () => {
    await using folder = await temporary();
    const kept = { source: 'keychain', value: 'of the keychain' };
    assert.deepEqual(await inSession(folder.path, unlocked, 'set'), {
      done: { store: 'keychain' },
      read: kept,
      list: ['KEY readable'],
    });
    assert.deepEqual((await inSession(folder.path, unlocked, 'read')).read, kept);
    const text = await readFile(join(folder.path, 'secrets.json'), 'utf8');
    assert.deepEqual(Object.entries(JSON.parse(text)).slice(2), [
      ['keychain', ['KEY']],
      ['secrets', {}],
    ]);
    assert.ok(!(await readdir(folder.path)).includes('secrets.key'));
    const removed = await inSession(folder.path, unlocked, 'remove');
    assert.deepEqual(removed, { done: true, list: [] });
  });

  test('that is locked is reported as locked, and its secrets are listed with the reason', async () => {
    await using folder = await temporary();
    await inSession(folder.path, unlocked, 'set');
    const { read, list } = await inSession(folder.path, locked, 'read');
    assert.match(
      read.fault,
      /^secret KEY cannot be read: the keychain is locked \(.*\): unlock it, and run agenthub reload$/,
    );
    assert.deepEqual(list, ['KEY unreadable']);
    // The keychain's daemon exits with 0 even if the password is wrong.
    const wrong = await inSession(folder.path, unlocked, 'read', 'wrong');
    assert.match(wrong.read.fault, /the keychain is locked/);
  });

  test('that is locked at first leaves a new secret to the file, and says so', async () => {
    await using folder = await temporary();
    await inSession(folder.path, unlocked, 'read');
    const { done, read } = await inSession(folder.path, locked, 'set');
    assert.equal(done.store, 'file');
    assert.match(done.why, /^the keychain is locked/);
    assert.deepEqual(read, { source: 'file', value: 'of the keychain' });
  });
};
if (isInstalled) describe('the Secret Service', suite);
else describe.skip('the Secret Service (skipped: gnome-keyring and dbus are not installed)', suite);

test('without a session bus the file is used, never the keyring of the kernel', async () => {
  await using folder = await temporary();
  const env = { PATH: process.env['PATH'], HOME: folder.path };
  const { stdout } = await run(process.execPath, [user, folder.path, 'set'], { env });
  const { done, read } = JSON.parse(stdout);
  assert.equal(done.store, 'file');
  assert.match(done.why, /^there is no usable keychain \(/);
  assert.deepEqual(read, { source: 'file', value: 'of the keychain' });
});
