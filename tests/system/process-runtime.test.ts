import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createProcessRuntime, createWatcher } from '#runtimes/process';
import { registryProblem } from '#helpers/registry';
import { call, record } from '../contracts/recorder.ts';

const everything = '@modelcontextprotocol/server-everything@2026.8.31';

const problem = registryProblem();

test.skipIf(problem !== undefined)(
  `server-everything runs as a process by npx, and nothing of it is left${problem ? ` (skipped: ${problem})` : ''}`,
  { timeout: 120_000 },
  async () => {
    const runtime = createProcessRuntime(
      {
        environment: process.env,
        // In a network with its own certificate authority, npx needs this variable.
        alsoInherited: ['NODE_EXTRA_CA_CERTS'],
        platform: process.platform,
      },
      { clock: systemClock, watcher: createWatcher(process.env['PATH']) },
    );
    const instance = await runtime.launch(
      {
        server: 'everything',
        target: { kind: 'process', command: 'npx', args: ['-y', everything, 'stdio'] },
        env: {},
        maxLineBytes: 2 ** 26,
        maxWaitingBytes: 2 ** 26,
      },
      { stderr() {}, progress() {} },
      new AbortController().signal,
    );
    const heard = record(instance.channel);
    const clientInfo = { name: 'test', version: '1' };
    // The first start downloads the package, which takes longer than any call.
    instance.channel.send(
      call(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }),
    );
    await Promise.race([heard.answer(1, 90_000), instance.exited]);
    instance.channel.send(call(undefined, 'notifications/initialized'));
    instance.channel.send(call(2, 'tools/list'));
    assert.match(await heard.answer(2), /"name":"echo"/);
    instance.channel.send(call(3, 'tools/call', { name: 'echo', arguments: { message: 'hello' } }));
    assert.match(await heard.answer(3), /hello/);
    const { pid } = instance.about;
    assert.ok(typeof pid === 'number');
    const exit = await instance.stop({ graceMs: 5000 });
    assert.equal(exit.signal === 'SIGKILL', false, exit.detail);
    // npx, its shell and the server are one process group, of which no process must be left.
    const left = spawnSync('ps', ['-o', 'pid=,stat=', '-g', String(pid)], { encoding: 'utf8' });
    assert.deepEqual(
      left.stdout.split('\n').filter(line => line.trim() !== '' && !line.includes('Z')),
      [],
    );
  },
);
