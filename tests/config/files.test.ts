import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtempDisposable, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import {
  createShippedFiles,
  readConfig,
  readRules,
  readSecretFiles,
  readSettings,
  snapshotOf,
} from '#config';
import { silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createConfiguration } from '../../hub/app/wire-config.ts';
import { readParsed } from '../../hub/config/document.ts';
import { createFileWatch } from '../../hub/config/file-watch.ts';
import { temporary } from './editing.ts';

const configs = join(import.meta.dirname, '..', '..', 'configs');
const none = JSON.stringify({ servers: {} });

/** Creates a folder without configs, and returns a function that reads them from it. */
async function emptyFolder() {
  const folder = await temporary();
  const file = join(folder.path, 'configs', 'mcp-servers.json');
  const rules = join(folder.path, 'configs', 'enhancement-rules.json');
  const shipped = createShippedFiles({
    [file]: join(configs, 'mcp-servers.default.json'),
    [rules]: join(configs, 'enhancement-rules.default.json'),
  });
  const load = { env: {}, home: folder.path };
  return {
    folder: folder.path,
    file,
    rules,
    shipped,
    read: () => readConfig(file, { ...load, ...shipped }),
    readOptions: async () => load,
    async write(text: string) {
      await mkdir(join(folder.path, 'configs'), { recursive: true });
      await writeFile(file, text);
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("the shipped files apply until the user's file exists, and not again when it is deleted", async () => {
  await using folder = await emptyFolder();
  assert.equal((await folder.read()).config?.servers.length, 5);
  assert.equal((await readRules(folder.rules, folder.shipped)).rules?.clients.size, 4);
  await folder.write(none);
  assert.equal((await folder.read()).config?.servers.length, 0);
  await rm(folder.file);
  assert.equal((await folder.read()).error?.code, 'HUB_CONFIG_MISSING');
});

test('a file that cannot be read is an error, and the shipped one is not used', async () => {
  await using folder = await emptyFolder();
  await mkdir(folder.file, { recursive: true });
  assert.match((await folder.read()).error?.message ?? '', /it is a folder/);
});

test('a pipe is an error, and is not waited for', async () => {
  await using folder = await emptyFolder();
  await folder.write(none);
  await rm(folder.file);
  execFileSync('mkfifo', [folder.file]);
  for (const reading of [folder.read(), readConfig(folder.file, { env: {}, home: folder.folder })])
    assert.equal(
      (await reading).error?.message,
      `${folder.file}: it is a pipe or a device. Use a regular file`,
    );
});

test('a file that is too large is an error, and is not parsed', async () => {
  await using folder = await emptyFolder();
  await folder.write(none);
  await truncate(folder.file, 8 * 2 ** 20 + 1);
  assert.equal(
    (await folder.read()).error?.message,
    `${folder.file}: it has 8388609 bytes, and a config file has at most 8388608. Name another file`,
  );
});

test('a file that this user may not read names the number of the user, as in a container', async () => {
  await using folder = await emptyFolder();
  await folder.write(none);
  // Root may read everything, so the test throws the system's error itself.
  const readText = async () => {
    throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  };
  const { failure } = await readParsed(folder.file, 'hub.json', { readText });
  const number = process.getuid?.();
  const expected = `hub.json: it cannot be read (EACCES: permission denied). Let the user with number ${number} read it`;
  assert.equal(failure?.error.message, expected);
});

test('the watch reports a file when it appears, and nothing before', async () => {
  await using folder = await emptyFolder();
  const clock = createManualClock();
  const quietMs = 200;
  const changed = Promise.withResolvers<readonly string[]>();
  const looked = Promise.withResolvers<void>();
  let event = () => {};
  await using watch = createFileWatch(
    { quietMs, shorterQuietMs: 0, maxQuietWaitMs: 5_000, pollMs: 3_600_000 },
    {
      clock,
      log: silent,
      async readText(path) {
        const text = await folder.shipped.readText(path);
        looked.resolve();
        return text;
      },
      onChange: async seen => changed.resolve(seen.map(({ digest }) => digest ?? 'absent')),
      watchFolders(onEvent) {
        event = onEvent;
        return { follow: async () => {}, [Symbol.dispose]() {} };
      },
    },
  );
  const text = await folder.shipped.readText(folder.file);
  await watch.follow([snapshotOf(folder.file, text)]);
  clock.advance(quietMs);
  await looked.promise;
  const own = JSON.stringify({ servers: {}, naming: { separator: '-' } });
  await folder.write(own);
  event();
  clock.advance(quietMs);
  assert.deepEqual(await changed.promise, [snapshotOf(folder.file, own).digest]);
});

test('an edit of the shipped config is written into the working folder', async () => {
  await using folder = await emptyFolder();
  const before = await readFile(join(configs, 'mcp-servers.default.json'), 'utf8');
  const first = await folder.read();
  assert.ok(first.config);
  const settings = readSettings({});
  const { configFile, source } = createConfiguration(
    {
      file: folder.file,
      first,
      read: folder.read,
      readOptions: folder.readOptions,
      settings: async () => settings,
      servers: () => first.config.servers,
      listSecrets: async () => [],
      secretsLeftBy: async () => [],
      shipped: folder.shipped,
    },
    {
      servers: {
        all: [],
        apply: async () => ({ added: [], removed: [], changed: [], unchanged: 0, failed: [] }),
      },
      settings,
      clock: systemClock,
      log: silent,
    },
  );
  await configFile.check('time', { image: 'time:1' });
  await assert.rejects(readFile(folder.file), /ENOENT/, 'a trial writes nothing');
  await configFile.remove('memory');
  const names = source.current.servers.map(({ name }) => name);
  assert.deepEqual(names, ['sequential-thinking', 'context7', 'desktop-commander', 'ollama']);
  const written = await readFile(folder.file, 'utf8');
  assert.doesNotMatch(written, /"memory"/);
  assert.match(written, /"context7"/);
  assert.equal(await readFile(join(configs, 'mcp-servers.default.json'), 'utf8'), before);
});

test('a password may be in a file that its _FILE variable names', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-secrets-'));
  const file = join(folder.path, 'key');
  await writeFile(file, 'secret\n');
  const env = { QDRANT_API_KEY_FILE: file, REDIS_PASSWORD_FILE: file, OTHER: 'x' };
  const read = await readSecretFiles(env);
  assert.deepEqual(read, { ...env, QDRANT_API_KEY: 'secret', REDIS_PASSWORD: 'secret' });
  await assert.rejects(readSecretFiles({ ...env, QDRANT_API_KEY: 'secret' }), {
    code: 'HUB_CONFIG_INVALID',
    message: /QDRANT_API_KEY_FILE: QDRANT_API_KEY is set as well/,
  });
  await writeFile(file, '\n');
  await assert.rejects(readSecretFiles(env), { message: /REDIS_PASSWORD_FILE: .*key" is empty/ });
  await assert.rejects(readSecretFiles({ REDIS_PASSWORD_FILE: join(folder.path, 'absent') }), {
    message: /REDIS_PASSWORD_FILE: .*absent" cannot be read \(ENOENT/,
  });
});
