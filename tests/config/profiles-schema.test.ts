import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { diffConfigs, loadConfig } from '#config';

async function read(written: object) {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-profiles-'));
  const file = join(folder, 'hub.json');
  writeFileSync(file, JSON.stringify({ servers: {}, ...written }));
  try {
    return await loadConfig(file, { env: {}, home: '/home/user' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a profile has lists, and hides the tools after "!"', async () => {
  const { profiles, clients } = await read({
    profiles: { work: { tags: 'disk', tools: ['time_*', '!files_move_file'] }, all: {} },
    clients: { cursor: { profile: 'work' } },
  });
  assert.deepEqual(profiles, [
    {
      name: 'work',
      tags: ['disk'],
      servers: [],
      tools: ['time_*'],
      hiddenTools: ['files_move_file'],
    },
    { name: 'all', tags: [], servers: [], tools: [], hiddenTools: [] },
  ]);
  assert.equal(clients?.[0]?.profile, 'work');
});

test('a reload applies a change of profiles only', async () => {
  const before = await read({ profiles: { work: { tags: 'disk' } } });
  const after = await read({ profiles: { work: { tags: 'net' } } });
  assert.deepEqual(diffConfigs(before, after).hub, ['profiles']);
});

test.each([
  [true, { pinned: [] }],
  [{ pinned: 'files_read_*' }, { pinned: ['files_read_*'] }],
  [{ pinned: ['git_log', 'files_*'] }, { pinned: ['git_log', 'files_*'] }],
  [{}, { pinned: [] }],
  [false, undefined],
])('"find": %j enables find mode with %j', async (find, expected) => {
  const { profiles } = await read({ profiles: { work: { find } } });
  assert.deepEqual(profiles?.[0]?.find, expected);
});

test.each([
  [{ profiles: { 'a/b': {} } }, /profiles.*the name of a profile has 1 to 32/s],
  [{ profiles: { work: { find: { pin: 'x' } } } }, /profiles\.work\.find/],
  [{ profiles: { work: { tag: 'x' } } }, /profiles\.work\.tag.*"tags"/s],
  [
    { profiles: { work: {} }, clients: { cursor: { profile: 'wrok' } } },
    /clients\.cursor\.profile.*"wrok".*is not a profile of the config: write "work"/s,
  ],
] as const)('%j is refused', async (written, message) => {
  await assert.rejects(read(written), message);
});
