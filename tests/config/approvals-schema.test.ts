import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig, readApprovals } from '#config';

async function load(approvals: unknown) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-approvals-'));
  const file = join(folder.path, 'hub.json');
  await writeFile(file, JSON.stringify({ servers: {}, approvals }));
  return (await loadConfig(file, { env: {}, home: '/home/user' })).approvals;
}

const defaults = {
  lifetimeMs: 600_000,
  maxWaiting: 1_000,
  maxWaitingPerClient: 200,
  agentWaitMs: 300_000,
};

describe('"approvals" in the config', () => {
  test('has defaults for each key, and as a whole', async () => {
    assert.deepEqual(readApprovals(undefined), defaults);
    assert.deepEqual(await load({ lifetime: 30, max_waiting: 5 }), {
      ...defaults,
      lifetimeMs: 30_000,
      maxWaiting: 5,
    });
  });

  test.each([
    [{ lifetme: 1 }, /approvals\.lifetme.*lifetime/s],
    [{ lifetime: 0 }, /approvals\.lifetime/],
    [{ max_waiting: 1.5 }, /approvals\.max_waiting/],
  ])('%j is refused with its path', async (written, message) => {
    await assert.rejects(load(written), { code: 'HUB_CONFIG_INVALID', message });
  });
});
