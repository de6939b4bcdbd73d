import assert from 'node:assert/strict';
import { test } from 'vitest';
import { exitOf } from '../../../../hub/runtimes/docker/container/exit.ts';

const killed = { code: 137, signal: 'SIGKILL' };

for (const [exitCode, oomKilled, expected] of [
  [0, false, { code: 0, detail: 'exited with code 0' }],
  [3, false, { code: 3, detail: 'exited with code 3' }],
  [
    127,
    false,
    {
      code: 127,
      detail: 'exited with code 127: its command is not in the image, or cannot be run there',
    },
  ],
  [126, false, { code: 126, detail: 'exited with code 126: its command cannot be executed' }],
  [137, false, { ...killed, detail: 'ended by SIGKILL' }],
  [143, false, { code: 143, signal: 'SIGTERM', detail: 'ended by SIGTERM' }],
  [200, false, { code: 200, detail: 'exited with code 200' }],
  [137, true, { ...killed, outOfMemory: true, detail: 'killed: out of memory (limit 512 MiB)' }],
  [
    1,
    true,
    {
      code: 1,
      detail: 'exited with code 1, after a process of it was killed: out of memory (limit 512 MiB)',
    },
  ],
] as const)
  test(`${exitCode}${oomKilled ? ' after a shortage of memory' : ''} reads "${expected.detail}"`, () => {
    assert.deepEqual(exitOf({ exitCode, oomKilled, memoryBytes: 512 * 2 ** 20 }), expected);
  });
