import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { findBridge } from '../../hub/clients/bridge-command.ts';

let home = '';
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-bridge-')));
});
afterEach(async () => await rm(home, { recursive: true }));

async function scriptAt(...parts: readonly string[]): Promise<string> {
  const script = join(home, ...parts);
  await mkdir(dirname(script), { recursive: true });
  await writeFile(script, '');
  return script;
}

/** A script in the cache of npx, for which a user gave these specs. */
async function inCache(manifest: string): Promise<string> {
  const script = await scriptAt('_npx', 'abc', 'node_modules', 'agenthub', 'bin', 'agenthub.mjs');
  await writeFile(join(home, '_npx', 'abc', 'package.json'), manifest);
  return script;
}

const specs = (...packages: readonly string[]) => JSON.stringify({ _npx: { packages } });
const bridgeOf = (script: string, platform = 'linux') =>
  findBridge({ node: '/usr/bin/node', script, platform });

test('an installed program is started by its absolute path', async () => {
  const script = await scriptAt('agenthub', 'bin', 'agenthub.mjs');
  assert.deepEqual(await bridgeOf(script), { command: '/usr/bin/node', args: [script] });
});

test.each(['agenthub', 'agenthub@1.2.3', 'agenthub@latest'])(
  'a program that npx runs as %s is started by npx again',
  async spec => {
    const script = await inCache(specs('other', spec));
    assert.deepEqual(await bridgeOf(script), { command: 'npx', args: ['-y', spec] });
    assert.deepEqual(await bridgeOf(script, 'win32'), {
      command: 'cmd',
      args: ['/c', 'npx', '-y', spec],
    });
  },
);

test.each([
  ['a folder', specs('/work/agenthub')],
  ['an archive', specs('agenthub@file:agenthub.tgz')],
  ['another package', specs('agenthub-other@1')],
  ['nothing', '{}'],
  ['what is no JSON', '{'],
])('a program that npx runs from %s is started by its path', async (_, manifest) => {
  const script = await inCache(manifest);
  assert.deepEqual(await bridgeOf(script), { command: '/usr/bin/node', args: [script] });
});
