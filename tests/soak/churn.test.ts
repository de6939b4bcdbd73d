import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { byLength } from '#helpers/length';
import { churn, leftOver } from './churn.ts';

const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 2 ** 31);
const seconds = byLength({ short: 10, long: 600 });
/** Few in the short form: beside other tests, a small machine makes fewer than 100 calls a second. */
const leastCalls = byLength({ short: 100, long: 1_000 });

describeWithEngine('churn', () => {
  test(
    'leaves what the config says, and the hub with what it had',
    { timeout: 300_000 + 2_000 * seconds },
    async () => {
      const churned = await churn({
        seconds,
        seed,
        servers: 20,
        clients: 30,
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
