import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createDecipheriv, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { writeWhole } from '#store';
import { secretsFolder } from './files.ts';

const run = promisify(execFile);
const writer = join(import.meta.dirname, 'writer.ts');

type Opened = ReturnType<Awaited<ReturnType<typeof secretsFolder>>['open']>;
/** Returns the value of a secret, or the reason why it cannot be read. */
async function read(secrets: Opened, name = 'KEY'): Promise<string> {
  const found = (await secrets.read([name])).get(name);
  return found === undefined ? '' : 'value' in found ? found.value : found.fault;
}

/** Decrypts a value by the documented format, without the code under test. */
function decrypt(key: Buffer, name: string, { nonce, data }: { nonce: string; data: string }) {
  const bytes = Buffer.from(data, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'));
  decipher.setAAD(Buffer.from(`agenthub secret v1 ${name}`)).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString();
}

describe('the format', () => {
  test('with a key file', async () => {
    await using folder = await secretsFolder();
    const value = 'zwei\nZeilen ü';
    await folder.open().set('KEY', value);
    const { scope, secrets, ...rest } = JSON.parse(await readFile(folder.file, 'utf8'));
    assert.match(scope, /^[0-9a-f]{16}$/);
    assert.deepEqual(rest, { version: 1, keychain: [], key: { kind: 'file' } });
    assert.deepEqual(Object.keys(secrets), ['KEY']);
    const key = Buffer.from((await readFile(folder.keyFile, 'utf8')).trim(), 'base64url');
    assert.equal(decrypt(key, 'KEY', secrets.KEY), value);
    for (const file of [folder.file, folder.keyFile, `${folder.file}.lock`])
      assert.equal((await stat(file)).mode & 0o777, 0o600, file);
  });

  test('with a passphrase, which makes no key file', async () => {
    await using folder = await secretsFolder();
    await folder.open({ passphrase: 'correct horse' }).set('KEY', 'value');
    const { key, secrets } = JSON.parse(await readFile(folder.file, 'utf8'));
    assert.equal(key.kind, 'passphrase');
    const cost = { N: 32_768, r: 8, p: 3, maxmem: 2 ** 26 };
    const derived = scryptSync('correct horse', Buffer.from(key.salt, 'base64'), 32, cost);
    assert.equal(decrypt(derived, 'KEY', secrets.KEY), 'value');
    await assert.rejects(stat(folder.keyFile), { code: 'ENOENT' });
  });

  test('has another nonce for each write', async () => {
    await using folder = await secretsFolder();
    const secrets = folder.open();
    const nonces = new Set<string>();
    for (let index = 0; index < 5; index++) {
      await secrets.set('KEY', 'value');
      nonces.add(JSON.parse(await readFile(folder.file, 'utf8')).secrets.KEY.nonce);
    }
    assert.equal(nonces.size, 5);
  });
});

describe('the key', () => {
  test('is refused while other users can read it', async () => {
    await using folder = await secretsFolder();
    await folder.open().set('KEY', 'value');
    await chmod(folder.keyFile, 0o644);
    const message = `other users can read ${folder.keyFile} (mode 644). Run: chmod 600 ${folder.keyFile}`;
    assert.equal(await read(folder.open()), `secret KEY cannot be read: ${message}`);
    await assert.rejects(folder.open().set('B', 'value'), { message });
    await chmod(folder.keyFile, 0o600);
    assert.equal(await read(folder.open()), 'value');
  });

  test('is named in a form that a shell reads', async () => {
    await using folder = await secretsFolder();
    const keyFile = join(folder.path, 'data', 'a key');
    const secrets = folder.open({ keyFile });
    await secrets.set('KEY', 'value');
    await chmod(keyFile, 0o640);
    assert.match(await read(secrets), / \(mode 640\)\. Run: chmod 600 '\/.*\/a key'$/);
  });

  test('that is missing is not created again, and nothing is written', async () => {
    await using folder = await secretsFolder();
    await folder.open().set('KEY', 'value');
    await rm(folder.keyFile);
    const before = await readFile(folder.file, 'utf8');
    assert.match(await read(folder.open()), /\.key, the key of the secrets, is missing\. Restore/);
    await assert.rejects(folder.open().set('B', 'value'), /is missing/);
    assert.equal(await readFile(folder.file, 'utf8'), before);
  });

  test('that differs by its passphrase reads nothing and writes nothing', async () => {
    await using folder = await secretsFolder();
    await folder.open({ passphrase: 'right' }).set('KEY', 'value');
    const wrong = folder.open({ passphrase: 'wrong' });
    assert.match(await read(wrong), /was changed, or the passphrase is not the one it was/);
    await assert.rejects(
      wrong.set('B', 'value'),
      /with another passphrase: nothing was changed\. Use that one, or first give up what it protects: agenthub secret remove KEY$/,
    );
    assert.match(await read(folder.open()), /Set AGENTHUB_PASSPHRASE, or AGENTHUB_PASSPHRASE_FILE/);
    assert.equal(await read(folder.open({ passphrase: 'right' })), 'value');
  });
});

describe('a changed file', () => {
  const changes: readonly (readonly [string, (text: string) => string, RegExp])[] = [
    ['torn', text => text.slice(0, text.length / 2), /json is damaged, and was left as it is/],
    ['empty', () => '', /json is damaged/],
    ['of another version', text => text.replace('"version": 1', '"version": 2'), /at version/],
    ['with another key', text => text.replace('"keychain"', '"other"'), /damaged/],
  ];
  test.for(changes)('%s is not overwritten', async ([, change, message]) => {
    await using folder = await secretsFolder();
    const secrets = folder.open();
    await secrets.set('KEY', 'value');
    const text = change(await readFile(folder.file, 'utf8'));
    await writeFile(folder.file, text);
    assert.match(await read(secrets), message);
    const [listed] = await secrets.list([{ secret: 'KEY', path: 'token' }]);
    assert.equal(listed?.state, 'unreadable');
    await assert.rejects(secrets.set('NEW', 'value'), message);
    await assert.rejects(secrets.remove('KEY'), message);
    await assert.rejects(secrets.list([]), message);
    assert.equal(await readFile(folder.file, 'utf8'), text);
  });

  const swap = (text: string) =>
    text.replace('"KEY"', '"X"').replace('"OTHER"', '"KEY"').replace('"X"', '"OTHER"');
  const tampered: readonly (readonly [string, (text: string) => string])[] = [
    [
      'a changed byte',
      text => text.replace(/(?<="KEY": \{[^}]*"data": ")./s, c => (c === 'A' ? 'B' : 'A')),
    ],
    [
      'a text that is too short',
      text => text.replace(/(?<="KEY": \{[^}]*"data": ")[^"]*/s, 'AAAA'),
    ],
    [
      'another nonce',
      text => text.replace(/(?<="KEY": \{[^}]*"nonce": ")[^"]*/s, 'AAAAAAAAAAAAAAAA'),
    ],
    ['the value of another name', swap],
  ];
  test.for(tampered)('%s is detected', async ([, change]) => {
    await using folder = await secretsFolder();
    const secrets = folder.open();
    await secrets.set('KEY', 'value');
    await secrets.set('OTHER', 'another value');
    const text = await readFile(folder.file, 'utf8');
    assert.notEqual(change(text), text);
    await writeFile(folder.file, change(text));
    const remedy = /was changed, or the key file is not the one .* or run agenthub secret set KEY$/;
    assert.match(await read(secrets), remedy);
  });
});

describe('concurrent writers', () => {
  test('that do not use the lock, as a restored backup, are not overwritten', async () => {
    await using folder = await secretsFolder();
    await folder.open().set('KEY', 'value');
    const backup = await readFile(folder.file, 'utf8');
    await folder.open().set('KEY', 'newer');
    const late = folder.open({
      async write(file, text, check) {
        await writeFile(folder.file, backup);
        await writeWhole(file, text, check);
      },
    });
    await assert.rejects(late.set('OTHER', 'value'), {
      code: 'HUB_CONFIG_CONFLICT',
      message: `${folder.file}: another program has replaced it meanwhile, so it was not changed. Try again`,
    });
    assert.equal(await readFile(folder.file, 'utf8'), backup);
  });

  test('lose nothing, in one process', async () => {
    await using folder = await secretsFolder();
    const secrets = folder.open();
    const names = Array.from({ length: 10 }, (_, index) => `N${index}`);
    await Promise.all(names.map(name => secrets.set(name, `value of ${name}`)));
    for (const name of names) assert.equal(await read(secrets, name), `value of ${name}`);
  });

  test('lose nothing, in several processes', async () => {
    await using folder = await secretsFolder();
    const prefixes = ['A', 'B', 'C'];
    const data = dirname(folder.file);
    await Promise.all(prefixes.map(prefix => run(process.execPath, [writer, data, prefix, '5'])));
    const secrets = folder.open();
    const names = prefixes.flatMap(prefix => [0, 1, 2, 3, 4].map(index => `${prefix}${index}`));
    for (const name of names) assert.equal(await read(secrets, name), `value of ${name}`);
  });

  test('that are killed leave a complete file, and no lock', async () => {
    await using folder = await secretsFolder();
    await folder.open().set('KEY', 'value');
    const data = dirname(folder.file);
    const child = spawn(process.execPath, [writer, data, 'K', '10000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const secrets = folder.open();
    assert.equal(await read(secrets), 'value');
    assert.equal(await read(secrets, 'K0'), 'value of K0');
    await secrets.set('AFTER', 'another');
    assert.equal(await read(secrets, 'AFTER'), 'another');
    const own = /^secrets\.(?:json|key|json\.lock)$/;
    const stray = (await readdir(data)).filter(name => !own.test(name));
    assert.ok(stray.length <= 1, 'at most the temporary file of the killed writer');
  });
});

describe('a folder that cannot be written', () => {
  test('is named, and not taken for another process that changes the secrets', async ({ skip }) => {
    await using folder = await secretsFolder();
    await folder.open().set('KEY', 'value');
    const remount = async (options: string, ...more: readonly string[]) =>
      await run('mount', ['-o', options, ...more, dirname(folder.file)]);
    const isMounted = await remount('size=8k', '-t', 'tmpfs', 'tmpfs').then(
      () => true,
      () => false,
    );
    if (!isMounted) return skip('this user may not mount');
    const code = 'HUB_CONFIG_UNWRITABLE';
    try {
      await writeFile(join(dirname(folder.file), 'fill'), Buffer.alloc(64 * 1024)).catch(() => {});
      await assert.rejects(folder.open().set('KEY', 'new'), { code, message: /full|ENOSPC/ });
      await remount('remount,ro');
      await assert.rejects(folder.open().set('KEY', 'new'), {
        code,
        message: /secrets\.json cannot be written and is unchanged: .*read-only.* set DATA_DIR/,
      });
    } finally {
      await run('umount', [dirname(folder.file)]);
    }
  });
});
