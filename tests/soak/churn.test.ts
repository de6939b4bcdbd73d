import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { byLength } from '#helpers/length';
import { churn, leftOver } from './churn.ts';

const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 2 ** 31);
const leastCalls = 1_000;
const seconds = byLength({ short: 10, long: 600 });
const servers = byLength({ short: 8, long: 20 });
const clients = byLength({ short: 20, long: 30 });

describeWithEngine('churn', () => {
  test(
    'leaves what the config says, and the hub with what it had',
    { timeout: 300_000 + 2_000 * seconds },
    async () => {
      const churned = await churn({
        seconds,
        leastCalls,
        seed,
        servers,
        clients,
        report() {},
      });
      const { calls, unexpected, done } = churned;
      const how = `SOAK_SEED=${seed}, ${calls} calls, ${JSON.stringify(done)}`;
      assert.deepEqual(unexpected, [], how);
      assert.ok(calls > leastCalls, how);
      assert.deepEqual(leftOver(churned), [], how);
    },
  );
});
