import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { getJson, startHub, states, until } from '#helpers/hub-process';
import { isAlive } from '../runtimes/process/alive.ts';

const stubborn = join(import.meta.dirname, '../fixtures/servers/ignores-sigterm.mjs');

test.skipIf(process.platform === 'win32')(
  'a hub that is killed leaves no process, even of a server that ignores the end of its input and SIGTERM',
  async () => {
    const entry = { command: process.execPath, args: [stubborn], runtime: 'process' };
    await using hub = await startHub({
      config: { servers: { stubborn: { ...entry, auto_start: true } } },
    });
    await until(
      () => states(hub),
      found => found['stubborn'] === 'running',
      20_000,
    );
    const shown = await getJson(hub, '/servers/stubborn');
    const about = isObject(shown) && isObject(shown['instance']) ? shown['instance'] : {};
    const { pid } = about;
    assert.ok(typeof pid === 'number' && isAlive(pid));
    await hub.kill();
    assert.ok(isAlive(pid), 'the hub cannot have ended it');
    await until(
      async () => isAlive(pid),
      alive => !alive,
      20_000,
    );
  },
);
