import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { loadConfig } from '#config';
import { temporary } from './editing.ts';

/** Returns the origin of a server with this entry, on a machine with these variables. */
async function originOf(entry: object, env: Readonly<Record<string, string>>) {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, JSON.stringify({ servers: { one: entry } }));
  const { servers } = await loadConfig(file, { env, home: folder.path });
  return servers[0]?.origin;
}

const here = { TOKEN: 'of this machine', ROOT: '/here' };
const there = { TOKEN: 'of another machine', ROOT: '/there' };

test('the origin is the same whatever variables, environment, bounds and mounts are', async () => {
  const entry = { image: 'st:1', args: ['--key', '${TOKEN}'], env: { KEY: '${TOKEN}' } };
  const mounts = [{ source: '${ROOT}', target: '/data' }];
  const origin = await originOf({ ...entry, timeout: 3, env: { OTHER: '1' }, mounts }, there);
  assert.match(origin ?? '', /^[0-9a-f]{32}$/);
  assert.equal(origin, await originOf(entry, here));
});

test('the origin does not depend on the query of a URL, which may have tokens', async () => {
  const url = 'https://mcp.example/mcp';
  const origin = await originOf({ url }, here);
  assert.equal(await originOf({ url: `${url}?token=secret` }, here), origin);
  assert.equal(await originOf({ url: `${url}?token=\${TOKEN}#\${TOKEN}` }, here), origin);
});

test('the origin differs if another program is launched', async () => {
  const entries = [
    { image: 'st:1' },
    { image: 'st:2' },
    { image: 'st:1', command: 'serve' },
    { image: 'st:1', args: ['a'] },
    { image: 'st:1', args: ['b'] },
    { image: 'st:1', args: ['${TOKEN}'] },
    { package: 'docker:st:1' },
    { package: '@org/st@1.0.0' },
    { command: 'st', args: ['a'] },
    { url: 'https://one.example/mcp' },
    { url: 'https://two.example/mcp' },
    { url: 'https://two.example/mcp', transport: 'sse' },
  ];
  const origins = await Promise.all(entries.map(entry => originOf(entry, here)));
  assert.equal(new Set(origins).size, entries.length);
});
