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
afterAll(() => hub?.[Symbol.asyncDispose]());

// The program must not wait for its connection, which the hub keeps open for over a minute.
const needsToken = [1, /wants its token: set ROUTER_TOKEN/] as const;
const needsKey = [
  2,
  /needs the owner's key of the hub at [^]*as the user who started the hub/,
] as const;
test.for([
  [['list'], needsToken],
  [['list', '--json'], needsToken],
  [['call', 'x'], needsToken],
  [['logs', 'x'], needsKey],
  [['restart', 'x'], needsKey],
] as const)(
  'the program exits at once if the hub does not admit it: %j',
  async ([args, [code, message]]) => {
    const child = spawn(process.execPath, [bin, ...args, '--url', hub.url], {
      cwd: import.meta.dirname,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 15_000,
      // On any other signal, the program would exit cleanly.
      killSignal: 'SIGKILL',
    });
    let told = '';
    child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await once(child, 'close');
    assert.deepEqual([child.exitCode, child.signalCode], [code, null]);
    assert.match(told, message);
  },
);
