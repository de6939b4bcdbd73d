import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig, readActivity } from '#config';

async function load(activity: unknown) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-activity-schema-'));
  const file = join(folder, 'hub.json');
  try {
    await writeFile(file, JSON.stringify({ servers: {}, activity }));
    return (await loadConfig(file, { env: {}, home: '/home/user' })).activity;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const defaults = { store: true, maxBytes: 4_194_304, maxAgeMs: 30 * 86_400_000 };

describe('"activity" in the config', () => {
  test('has defaults for each key, and as a whole', async () => {
    assert.deepEqual(readActivity(undefined), defaults);
    assert.deepEqual(await load({ store: false, max_age_days: 0.5 }), {
      ...defaults,
      store: false,
      maxAgeMs: 43_200_000,
    });
  });

  test.each([
    [{ stores: true }, /activity\.stores.*store/s],
    [{ max_bytes: 1_000 }, /activity\.max_bytes/],
    [{ max_age_days: 0 }, /activity\.max_age_days/],
    [true, /activity/],
  ])('refuses %j with its path', async (activity, message) => {
    await assert.rejects(load(activity), { message });
  });
});
