import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { connectEra, eras } from '#helpers/eras';
import { temporary } from '../config/editing.ts';
import { startHub, states, until } from '#helpers/hub-process';

const file = join(import.meta.dirname, '../fixtures/servers/files.mjs');
const config = `{
  // ours
  "servers": {
    "files": {
      "command": ${JSON.stringify(process.execPath)},
      "args": [${JSON.stringify(file)}],
      "runtime": "process", // no container
      "auto_start": true
    }
  }
}
`;

test('a switch takes effect at once, tells clients of both eras, and leaves the file otherwise as it was', async () => {
  await using folder = await temporary();
  const configFile = join(folder.path, 'hub.json');
  await writeFile(configFile, config);
  await using hub = await startHub({ config: {}, configFile });
  await until(
    () => states(hub),
    ({ files }) => files === 'running',
    20_000,
  );
  await using first = await connectEra(eras[0], `${hub.url}/mcp`);
  await using second = await connectEra(eras[1], `${hub.url}/mcp`);
  const clients = [first, second];
  const listening = await Promise.all(clients.map(client => client.subscribe()));
  const turn = async (body: object) => {
    const answer = await fetch(`${hub.url}/servers/files/tools`, {
      method: 'POST',
      headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  const heard = clients.map(client => client.hears('notifications/tools/list_changed'));
  await turn({ disable: ['write_file', 'search'] });
  const text = await readFile(configFile, 'utf8');
  assert.match(text, /\/\/ no container\n[^]*"deny": \[\s*"write_file",\s*"search"\s*\]/);
  for (const client of clients) {
    assert.deepEqual(await client.toolNames(), ['files_read_file', 'files_move_file']);
    await assert.rejects(client.call('files_search'), /policy denies|servers\.files\.tools\.deny/);
  }
  await Promise.all(heard);
  await turn({ enable: ['search', 'write_file'] });
  assert.equal(await readFile(configFile, 'utf8'), config);
  for (const client of clients) assert.match(await client.call('files_search'), /did search/);
  for (const one of listening) await one.stop();
});
