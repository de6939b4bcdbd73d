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

/** Returns the memory of a process in MB: resident now, the part of it that is not mapped from files, and the peak. */
function memoryOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  return {
    resident: megabytes('VmRSS'),
    anonymous: megabytes('RssAnon'),
    peak: megabytes('VmHWM'),
  };
}

describeWithEngine('the memory of an idle hub', () => {
  test(
    `is at most ${mostMB} MB with twenty containers`,
    { timeout: 120_000 },
    async ({ annotate }) => {
      // The first start after a change compiles the sources, which leaves the compiler in memory.
      const first = await startHub({ config: { servers: {} } });
      await first[Symbol.asyncDispose]();
      await using hub = await startHub({ config, env: { HUB_NAME: `idle-${process.pid}` } });
      const states = await settled(hub, 90_000);
      assert.deepEqual(new Set(Object.values(states)), new Set(['running']), hub.log());
      await using client = await connect(`${hub.url}/mcp`);
      assert.ok((await client.toolNames()).length > 300);
      // On a busy machine the garbage collection of idle times comes later.
      let memory: ReturnType<typeof memoryOf>;
      let looks = 0;
      do {
        await delay(settleMs);
        memory = memoryOf(hub.pid);
        looks += 1;
      } while (memory.resident > mostMB && looks < maxLooks);
      const found = `${memory.resident.toFixed(1)} MB resident, ${memory.anonymous.toFixed(1)} MB of them anonymous, at most ${memory.peak.toFixed(1)} MB before`;
      await annotate(found);
      assert.ok(memory.resident <= mostMB, found);
    },
  );
});
