import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecordingLog, startHub, until } from '#helpers/hub';
import { describeServer } from '#servers';
import { createUnknownToolLog } from '../../hub/routing/unknown-tools.ts';

const tools = {
  path: 'servers.files.tools',
  allow: ['*_file', 'serch'],
  rename: { search: 'find', old: 'new' },
};

test('tools that the config names and the server lacks are logged once', async () => {
  await using hub = await startHub([{ name: 'files', tools }]);
  const server = hub.server('files');
  assert.deepEqual(describeServer(server)['unknown_tools'], ['serch', 'old']);
  const { log, logged } = createRecordingLog();
  const logUnknownTools = createUnknownToolLog(log);
  logUnknownTools([server]);
  logUnknownTools([server]);
  assert.equal(logged.length, 1);
  assert.match(JSON.stringify(logged), /"tools":\["serch","old"\]/);
  await until(() => hub.logged.some(line => JSON.stringify(line).includes('serch')));
});

test('a server without a tool list, or without names in the config, causes no log', async () => {
  await using hub = await startHub([{ name: 'files', tools }, { name: 'echo' }], { start: false });
  const { log, logged } = createRecordingLog();
  createUnknownToolLog(log)(hub.servers.all);
  assert.deepEqual(logged, []);
  assert.equal('unknown_tools' in describeServer(hub.server('echo')), false);
});

test('a reload logs the unknown tools of a changed entry', async () => {
  await using hub = await startHub([{ name: 'files' }]);
  const naming = { separator: '_', maxLength: 46 } as const;
  const cache = {
    tools: ['write_file', 'serch'],
    ttlMs: 1_000,
    per: 'all',
    hints: 'both',
    maxBytes: 1_000,
  } as const;
  const { config } = hub.server('files');
  await hub.servers.apply({ servers: [{ ...config, cache }], naming });
  const told = JSON.stringify(hub.logged);
  assert.match(told, /"tools":\["serch"\]/);
  assert.match(told, /"tools":\["write_file"\]/);
  assert.match(told, /set \\"hints\\": \\"read_only\\"/);
  const trusting = { ...cache, tools: ['move_file'], hints: 'read_only' } as const;
  await hub.servers.apply({ servers: [{ ...config, cache: trusting }], naming });
  const last = JSON.stringify(hub.logged.at(-1));
  assert.match(last, /remove them from \\"cache\\".*"tools":\["move_file"\]/);
});
