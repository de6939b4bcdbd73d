import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call, record, until } from '../../contracts/recorder.ts';
import { isAlive } from './alive.ts';
import { launchSource } from './launch.ts';

describe('stopping a process', () => {
  const ready = (method: string) =>
    `process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'${method}',params:{pid:globalThis.child?.pid}}) + '\\n');`;

  test('ends its input first, after what is still to be written', async () => {
    const lines: string[] = [];
    const instance = await launchSource(
      `process.on('SIGTERM', () => process.exit(9));
       process.stdin.on('data', data => process.stderr.write(data)).on('end', () => process.exit(0));
       ${ready('up')}`,
      { stderr: line => void lines.push(line) },
    );
    const heard = record(instance.channel);
    await heard.notifications('up', 1);
    instance.channel.send(call(undefined, 'goodbye'));
    assert.deepEqual(await instance.stop({ graceMs: 10_000 }), {
      code: 0,
      detail: 'the process of tested exited with code 0',
    });
    assert.deepEqual(lines, [call(undefined, 'goodbye').toString()]);
    assert.equal((await instance.channel.closed).error, undefined);
  });

  test('sends SIGTERM to one that goes on, and SIGKILL to one that ignores it', async () => {
    const goesOn = await launchSource(
      `process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000); ${ready('up')}`,
    );
    await record(goesOn.channel).notifications('up', 1);
    assert.equal((await goesOn.stop({ graceMs: 2_000 })).code, 5);

    const ignores = await launchSource(
      `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); ${ready('up')}`,
    );
    await record(ignores.channel).notifications('up', 1);
    const [first, second] = await Promise.all([
      ignores.stop({ graceMs: 200 }),
      ignores.stop({ graceMs: 60_000 }),
    ]);
    assert.equal(first.signal, 'SIGKILL');
    assert.deepEqual(second, first);
  });

  const child = (how: string) =>
    `globalThis.child = require('node:child_process').spawn(process.execPath,
       ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], ${how});`;

  test.for([
    ['with its pipes', '{stdio:"inherit"}'],
    ['without them', '{stdio:"ignore"}'],
  ] as const)('leaves no child behind that ignores SIGTERM, %s', async ([, how]) => {
    const instance = await launchSource(
      `${child(how)} process.stdin.on('end', () => process.exit(0)).resume(); ${ready('up')}`,
    );
    const [up] = await record(instance.channel).notifications('up', 1);
    const { pid } = JSON.parse(up ?? '').params;
    assert.ok(isAlive(pid));
    assert.equal((await instance.stop({ graceMs: 1_000 })).code, 0);
    assert.ok(!isAlive(pid), 'the child lives on');
  });

  test('leaves no child behind when the process crashes', async () => {
    const instance = await launchSource(
      `${child('{stdio:"inherit"}')} ${ready('up')} setTimeout(() => process.exit(1), 50)`,
    );
    const [up] = await record(instance.channel).notifications('up', 1);
    const { pid } = JSON.parse(up ?? '').params;
    assert.equal((await instance.exited).code, 1);
    assert.ok(!isAlive(pid), 'the child lives on');
  });

  test('does not wait for a daemon that left the group and holds the pipes', async () => {
    const instance = await launchSource(
      `${child('{stdio:"inherit",detached:true}')} ${ready('up')} setTimeout(() => process.exit(1), 50)`,
    );
    const [up] = await record(instance.channel).notifications('up', 1);
    const { pid } = JSON.parse(up ?? '').params;
    assert.equal((await instance.exited).code, 1);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 'the end of the daemon');
  });
});
