import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { settled, startHub } from '#helpers/hub-process';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

const mostMB = 105;
/** Interval of the measurements in ms. The hub releases memory of the start after three seconds without calls. */
const settleMs = 5_000;
const maxLooks = 6;

const config = {
  servers: Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [
      `idle-${at + 1}`,
      {
        image: 'node:24-bookworm-slim',
        command: 'node',
        args: ['/fixtures/echo.mjs'],
        mounts: [{ source: fixtures, target: '/fixtures' }],
        auto_start: true,
      },
    ]),
  ),
};

describeWithEngine('the memory of an idle hub', () => {
  test(
    `is at most ${mostMB} MB with twenty containers`,
    { timeout: 120_000 },
    async ({ annotate }) => {
      // The first start after a change compiles the sources, which leaves the compiler in memory.
      const first = await startHub({ config: { servers: {} } });
      await first[Symbol.asyncDispose]();
      await using hub = await startHub({ config, env: { HUB_NAME: `idle-${process.pid}` } });
      const found = await settled(hub, 90_000);
      assert.deepEqual(new Set(Object.values(found)), new Set(['running']), hub.log());
      await using client = await connect(`${hub.url}/mcp`);
      assert.ok((await client.toolNames()).length > 300);
      // On a busy machine the garbage collection of idle times comes later.
      let residentMB = Number.POSITIVE_INFINITY;
      for (let look = 0; look < maxLooks && residentMB > mostMB; look++) {
        await delay(settleMs);
        const status = readFileSync(`/proc/${hub.pid}/status`, 'utf8');
        residentMB = (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024) / 1e6;
      }
      await annotate(`${residentMB.toFixed(1)} MB resident`);
      assert.ok(residentMB <= mostMB, `${residentMB.toFixed(1)} MB resident`);
    },
  );
});
