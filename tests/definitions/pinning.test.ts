import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { loadConfig } from '#config';
import { pinningOf } from '../../hub/definitions/pinning.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agenthub-pinning-'));
});
afterEach(() => rm(folder, { recursive: true }));

const modeOf = async (entry: object, hub: object = {}) => {
  const file = join(folder, 'hub.json');
  await writeFile(file, JSON.stringify({ ...hub, mcpServers: { one: entry } }));
  const { servers } = await loadConfig(file, { env: {}, home: folder });
  return servers.map(pinningOf);
};

test.each([
  [{ url: 'https://example.com/mcp' }, 'hide'],
  [{ package: '@org/server' }, 'hide'],
  [{ package: '@org/server@latest' }, 'hide'],
  [{ package: '@org/server@1.2.3' }, 'warn'],
  [{ package: 'server@1.2.3-beta.1+build' }, 'warn'],
  // To npm, these versions are ranges.
  [{ package: '@org/server@1.2' }, 'hide'],
  [{ package: '@org/server@1.2.x' }, 'hide'],
  [{ package: 'uvx:server' }, 'hide'],
  [{ package: 'uvx:server==1.0' }, 'warn'],
  [{ package: 'uvx:server==1!1.0' }, 'warn'],
  // PyPI has versions of one number.
  [{ package: 'uvx:server==2025' }, 'warn'],
  [{ package: 'uvx:server==2025rc1' }, 'warn'],
  [{ package: 'server@2025' }, 'hide'],
  [{ image: 'name:tag' }, 'warn'],
  [{ command: 'node', args: ['server.mjs'] }, 'warn'],
  [{ package: 'agenthub:ollama-mcp', pinning: 'hide' }, 'off'],
  [{ url: 'https://example.com/mcp', pinning: 'off' }, 'off'],
])('%j is pinned in the mode %s', async (entry, mode) => {
  assert.deepEqual(await modeOf(entry), [mode]);
});

test('the mode of the hub is that of entries without one', async () => {
  const hub = { pinning: 'warn' };
  assert.deepEqual(await modeOf({ url: 'https://example.com/mcp' }, hub), ['warn']);
  assert.deepEqual(await modeOf({ package: 'one', pinning: 'hide' }, hub), ['hide']);
});
