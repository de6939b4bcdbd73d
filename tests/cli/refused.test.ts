import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';

const bin = join(import.meta.dirname, '../../bin/agenthub.mjs');

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([{ name: 'echo' }], { http: { token: 'a-token-of-16-chars' } });
});
afterAll(() => hub[Symbol.asyncDispose]());

// The hub keeps a connection for longer than a minute.
test.for([['list'], ['list', '--json'], ['call', 'x'], ['logs', 'x'], ['restart', 'x']])(
  'the program ends at once where the hub does not let it in: %j',
  async args => {
    const child = spawn(process.execPath, [bin, ...args, '--url', hub.url], {
      cwd: import.meta.dirname,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 15_000,
      // Any other it would take for the wish to end.
      killSignal: 'SIGKILL',
    });
    let told = '';
    child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await once(child, 'close');
    assert.deepEqual([child.exitCode, child.signalCode], [1, null]);
    assert.match(told, /wants its token: set ROUTER_TOKEN/);
  },
);
