import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { diffConfigs, loadConfig } from '#config';

async function read(fanOut: object) {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-fan-out-'));
  const file = join(folder, 'hub.json');
  writeFileSync(file, JSON.stringify({ servers: {}, fan_out: fanOut }));
  try {
    return await loadConfig(file, { env: {}, home: '/home/user' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a fan-out tool has its tools once, a way to merge and a time in ms', async () => {
  const before = await read({});
  const after = await read({ search_all: { tools: ['a', 'b', 'a'], timeout: 1.5 } });
  assert.deepEqual(after.fanOut, [
    { name: 'search_all', tools: ['a', 'b'], merge: 'concat', timeoutMs: 1500 },
  ]);
  assert.equal(before.fanOut, undefined);
  assert.deepEqual(diffConfigs(before, after).hub, ['fanOut']);
});

test.for([
  [{ 'a b': { tools: ['x'] } }, /the name of a fan-out tool has 1 to 64/],
  [{ a: { tools: [] } }, /fan_out\.a\.tools/],
  [{ a: { tools: ['x'], merge: 'last' } }, /fan_out\.a\.merge/],
  [{ a: { tools: ['x'], timeout: 541 } }, /fan_out\.a\.timeout/],
  [{ a: { tool: ['x'] } }, /fan_out\.a\.tool: unknown key.*"tools"/],
  [
    { a: { tools: ['b'] }, b: { tools: ['x'] } },
    /fan_out\.a\.tools\[0\]: .*is a fan-out tool itself/,
  ],
] as const)('%j is refused', async ([fanOut, message]) => {
  await assert.rejects(read(fanOut), message);
});
