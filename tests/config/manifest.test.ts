import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { loadConfig, readSettings } from '#config';
import { HubError } from '#core';

/** Loads a text as the config. */
async function load(text: string, env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-manifest-'));
  try {
    const file = join(folder, 'hub.yaml');
    await writeFile(file, text);
    return await loadConfig(file, { env, home: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const token = 'a-token-of-enough-characters';
const manifest = 'servers: {}\nlisten: { host: localhost, port: 9191 }\ntoken: ${HUB_TOKEN}\n';

test('the config file sets the listen address and the token', async () => {
  const config = await load(manifest, { HUB_TOKEN: token });
  const settings = readSettings({}, '', config);
  assert.deepEqual([settings.host, settings.port, settings.token], ['localhost', 9191, token]);
});

test('the environment and .env override the config file', async () => {
  const config = await load(manifest, { HUB_TOKEN: token });
  const own = 'another-token-of-enough-characters';
  const settings = readSettings({ ROUTER_PORT: '9292' }, `ROUTER_TOKEN=${own}`, config);
  assert.deepEqual([settings.host, settings.port, settings.token], ['localhost', 9292, own]);
});

test('administration is turned off by the file or the environment, and the environment wins', async () => {
  const config = await load('servers: {}\nadministration: off\n');
  assert.equal(readSettings({}, '', config).administration, 'off');
  const env = { ROUTER_ADMINISTRATION: 'on' };
  assert.equal(readSettings(env, '', config).administration, 'on');
  assert.equal(readSettings({}, '', await load('servers: {}\n')).administration, 'on');
  await assert.rejects(load('servers: {}\nadministration: false\n'), /administration/);
  assert.throws(() => readSettings({ ROUTER_ADMINISTRATION: 'no' }), /ROUTER_ADMINISTRATION/);
});

test('an address that others can reach is refused without token and TLS, wherever it is set', async () => {
  const config = await load('servers: {}\nlisten: { host: 0.0.0.0 }\n');
  assert.throws(
    () => readSettings({}, '', config),
    (error: unknown) => error instanceof HubError && error.code === 'HUB_LISTEN_REFUSED',
  );
});

test('problems of these keys are reported with their paths', async () => {
  await assert.rejects(
    load('servers: {}\nlisten: { port: 70000 }\n'),
    /hub\.yaml:2.*listen\.port/s,
  );
  await assert.rejects(load('servers: {}\nlisten: { prot: 1 }\n'), /prot.*port/s);
  await assert.rejects(load(manifest), /HUB_TOKEN/);
});

test('what only the settings refuse is named by its key in the file, if it is from there', async () => {
  const bad = await load('servers: {}\nlisten: { host: a b }\ntoken: short\n');
  assert.throws(() => readSettings({}, '', bad), {
    message:
      /^listen\.host in the config: "a b" is not allowed\..*\ntoken in the config: the value/,
  });
  assert.throws(() => readSettings({ ROUTER_HOST: 'a b' }, '', bad), /ROUTER_HOST: "a b"/);
  const open = await load('servers: {}\nlisten: { host: 0.0.0.0 }\n');
  assert.throws(() => readSettings({}, '', open), {
    message:
      /^listen\.host in the config: "0\.0\.0\.0" is reachable.* or listen\.host to 127\.0\.0\.1$/,
  });
});
