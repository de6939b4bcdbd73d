import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig, readAudit } from '#config';

async function load(audit: unknown) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-audit-schema-'));
  const file = join(folder, 'hub.json');
  try {
    await writeFile(file, JSON.stringify({ servers: {}, audit }));
    return (await loadConfig(file, { env: {}, home: '/home/user' })).audit;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const defaults = {
  enabled: true,
  maxBytes: 8_388_608,
  maxAgeMs: 30 * 86_400_000,
  keep: 8,
  onFailure: 'continue',
};

describe('"audit" in the config', () => {
  test('has defaults for each key, and as a whole', async () => {
    assert.deepEqual(readAudit(undefined), defaults);
    assert.deepEqual(await load({ keep: 3, on_failure: 'refuse', max_age_days: 0.5 }), {
      ...defaults,
      keep: 3,
      onFailure: 'refuse',
      maxAgeMs: 43_200_000,
    });
  });

  test.each([
    [{ on_failur: 'refuse' }, /audit\.on_failur.*on_failure/s],
    [{ on_failure: 'ignore' }, /audit\.on_failure/],
    [{ max_bytes: 1_000 }, /audit\.max_bytes/],
    [{ keep: 0 }, /audit\.keep/],
    [{ max_age_days: 0 }, /audit\.max_age_days/],
    [true, /audit/],
  ])('refuses %j with its path', async (audit, message) => {
    await assert.rejects(load(audit), { message });
  });
});
