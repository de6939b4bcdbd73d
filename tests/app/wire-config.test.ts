import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { clientTokensFile } from '#access';
import { type Config, readConfig, readSettings } from '#config';
import { HubError, type Log, silent, systemClock } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import type { Applied } from '#servers';
import { createConfiguration, warnOf } from '../../hub/app/wire-config.ts';
import { temporary } from '../config/editing.ts';
import { supervise } from '../servers/scripted.ts';

const textOf = (image: string) => JSON.stringify({ servers: { one: { image } } });

/** Creates a configuration whose changes are applied by `next`, which may resolve later. */
async function configured(
  file: string,
  home: string,
  next: () => Promise<Applied>,
  all: Parameters<typeof createConfiguration>[1]['servers']['all'] = [],
  log: Log = silent,
) {
  let latest: Config | undefined;
  const read = async () => {
    const reading = await readConfig(file, { env: {}, home });
    latest = reading.config ?? latest;
    return reading;
  };
  const first = await read();
  assert.ok(first.config);
  const env = { DATA_DIR: home };
  const settings = readSettings(env);
  return createConfiguration(
    {
      file,
      first,
      read,
      readOptions: async () => ({ env: {}, home }),
      settings: async () => readSettings(env, '', latest),
      servers: () => first.config.servers,
      listSecrets: async () => [],
      secretsLeftBy: async () => [],
    },
    { servers: { all, apply: next }, settings, clock: systemClock, log },
  );
}

test('a reload without a change waits for the one under way, and returns its outcome', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, textOf('one:1'));
  const swap = Promise.withResolvers<Applied>();
  const { source, control } = await configured(file, folder.path, () => swap.promise);
  await writeFile(file, textOf('one:2'));
  // The file watch reloads in the same way.
  assert.equal((await source.reload()).kind, 'changed');
  let isAnswered = false;
  const reloads = [control.reload(), control.reload()];
  for (const reload of reloads) void reload.then(() => (isAnswered = true));
  // By then, each reload has read the files.
  assert.equal((await source.reload()).kind, 'unchanged');
  assert.equal(isAnswered, false);
  const error = new HubError('HUB_SERVER_START_FAILED', 'it has exited');
  const none = { added: [], removed: [], changed: [], unchanged: 0 };
  swap.resolve({ ...none, failed: [{ server: 'one', error }] });
  for (const answer of await Promise.all(reloads))
    assert.deepEqual(answer, {
      ...none,
      status: 'changed',
      failed: [{ server: 'one', code: 'HUB_SERVER_START_FAILED', message: 'it has exited' }],
    });
  assert.deepEqual(await control.reload(), { status: 'unchanged' }, 'it is told by now');
});

test('a reload that allows an unknown entry shortens its name', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, '{"servers": {"one": {"image": "one:1"}}}');
  const none = { added: [], removed: [], changed: [], failed: [], unchanged: 1 };
  const { control } = await configured(file, folder.path, async () => none);
  await assert.rejects(control.reload(['x'.repeat(100_000)]), {
    code: 'HUB_REQUEST_INVALID',
    message: `allow: no entry of "${'x'.repeat(59)}... waits. Those that wait: none`,
  });
});

test('a reload warns of what the config before did not have', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const servers = { one: { image: 'one:1' } };
  const deny = (...tools: readonly string[]) => [{ tools, action: 'deny' }];
  await writeFile(file, JSON.stringify({ servers, policy: deny('two_a', 'one_*') }));
  const { log, logged } = createRecordingLog();
  const none = { added: [], removed: [], changed: [], failed: [], unchanged: 1 };
  const { source } = await configured(file, folder.path, async () => none, [], log);
  const policy = deny('two_a', 'one_*', 'three_a');
  await writeFile(file, JSON.stringify({ servers, policy }));
  await source.reload();
  assert.deepEqual(
    logged.filter(({ level }) => level === 'warn').map(({ message }) => message),
    [
      'policy[0].tools: "three_a" is a tool of no server. On /mcp tools are called "<server>_<tool>"',
    ],
  );
});

test('a start and a reload do not warn of rules for clients for which the hub made a token', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const made = { sha256: 'a'.repeat(64), created_at: '2026-11-23T12:00:00.000Z' };
  const stored = { made: { cursor: made }, configured: {}, revoked: [] };
  await writeFile(join(folder.path, clientTokensFile), JSON.stringify(stored), { mode: 0o600 });
  const servers = { one: { image: 'one:1' } };
  const deny = (...clients: readonly string[]) => [{ clients, action: 'deny', tools: 'one_a' }];
  await writeFile(file, JSON.stringify({ servers }));
  const { log, logged } = createRecordingLog();
  const none = { added: [], removed: [], changed: [], failed: [], unchanged: 1 };
  const { source } = await configured(file, folder.path, async () => none, [], log);
  await writeFile(file, JSON.stringify({ servers, policy: deny('cursor', 'zed') }));
  await source.reload();
  const warned = () =>
    logged.flatMap(({ level, message }) => (level === 'warn' ? message.split('. ', 1) : []));
  const ofZed = 'policy[0].clients: "zed" is not in "clients"';
  assert.deepEqual(warned(), [ofZed]);
  await warnOf(source.current, { settings: { dataDir: folder.path }, log });
  assert.deepEqual(warned(), [ofZed, ofZed]);
});

test('the log names the changed keys of the hub, without their values', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const servers = { one: { image: 'one:1' } };
  await writeFile(file, JSON.stringify({ servers }));
  const { log, logged } = createRecordingLog();
  const none = { added: [], removed: [], changed: [], failed: [], unchanged: 1 };
  const { control } = await configured(file, folder.path, async () => none, [], log);
  const policy = [{ tools: 'one_private', action: 'deny' }];
  const limits = { per_session: { max_concurrent_calls: 5 } };
  const changed = { servers, naming: { separator: '__' }, management_tools: true, policy, limits };
  await writeFile(file, JSON.stringify(changed));
  await control.reload();
  assert.deepEqual(
    logged.filter(({ message }) => message === 'the config was changed').map(one => one.fields),
    [
      {
        added: [],
        removed: [],
        changed: [],
        keys: ['naming', 'management_tools', 'limits', 'policy'],
      },
    ],
  );
});

test('values of an entry with which its server does not start are taken back', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const text = '{"servers": {"one": {"package": "n@1.0.0"} /* mine */}}';
  await writeFile(file, text);
  // The second instance never becomes ready.
  let starts = 0;
  await using scene = supervise({ name: 'one' }, { script: () => ({ isBroken: ++starts === 2 }) });
  scene.server.start();
  await scene.server.ready();
  const none = { added: [], removed: [], changed: [], failed: [], unchanged: 0 };
  const written: string[] = [];
  async function apply(): Promise<Applied> {
    written.push(await readFile(file, 'utf8'));
    const config = { ...scene.server.config, description: `${written.length}` };
    await scene.server.reconfigure(config, true).catch(() => {}); // `refusedEntry` reports the error.
    return none;
  }
  const { configFile } = await configured(file, folder.path, apply, [scene.server]);
  await assert.rejects(configFile.set('one', { package: 'n@2.0.0' }), {
    code: 'HUB_SERVER_START_FAILED',
    message: /^one did not start with the new entry, and runs with the old one: /,
  });
  assert.deepEqual(written, [text.replace('1.0.0', '2.0.0'), text]);
  await configFile.set('one', { package: 'n@3.0.0' });
  assert.equal(await readFile(file, 'utf8'), text.replace('1.0.0', '3.0.0'));
});

const unchanged: Applied = { added: [], removed: [], changed: [], failed: [], unchanged: 1 };

test('a change that applies after a restart is told once, without its value', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const servers = { one: { image: 'one:1' } };
  await writeFile(file, JSON.stringify({ servers }));
  const { log, logged } = createRecordingLog();
  const { source } = await configured(file, folder.path, async () => unchanged, [], log);
  const token = 'a-token-of-enough-characters';
  await writeFile(file, JSON.stringify({ servers, token, listen: { port: 9191 } }));
  await source.reload();
  await source.reload();
  assert.deepEqual(logged, [
    {
      level: 'warn',
      message: 'settings have changed that take effect after a restart of the hub',
      fields: { settings: ['ROUTER_PORT', 'ROUTER_TOKEN'] },
    },
  ]);
});

test('a file whose settings the next start would refuse is refused as a whole', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, textOf('one:1'));
  const applied = async () => unchanged;
  const { source, control, configFile } = await configured(file, folder.path, applied);
  const servers = { one: { image: 'one:2' } };
  const text = JSON.stringify({ servers, listen: { host: '0.0.0.0' } });
  await writeFile(file, text);
  assert.equal((await source.reload()).kind, 'refused');
  assert.match(control.status().error ?? '', /"0\.0\.0\.0" is reachable from other machines/);
  await assert.rejects(control.reload(), { code: 'HUB_LISTEN_REFUSED' });
  const launch = source.current.servers[0]?.launch;
  assert.equal(launch?.kind === 'local' && launch.image, 'one:1');
  // The change of the file could not be applied, so nothing is written.
  const refused = { code: 'HUB_LISTEN_REFUSED' };
  await assert.rejects(configFile.check('two', { image: 'two:1' }), refused);
  await assert.rejects(configFile.remove('one'), refused);
  await assert.rejects(configFile.set('one', { image: 'one:3' }), refused);
  assert.equal(await readFile(file, 'utf8'), text);
});

test('an entry that waits for its confirmation does not hold back the rest, and the status says so', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, textOf('one:1'));
  const { source, control } = await configured(file, folder.path, async () => unchanged);
  const two = { command: 'node', args: [], runtime: 'process' };
  await writeFile(file, JSON.stringify({ servers: { one: { image: 'one:2' }, two } }));
  await source.reload();
  assert.match(control.status().error ?? '', /^the rest of it is in force: .* would make two run/);
  await writeFile(file, '{');
  await source.reload();
  assert.match(control.status().error ?? '', /^the last good one is in force: .*hub\.json:1:2: /);
});
