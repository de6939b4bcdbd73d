import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call, record } from '../../contracts/recorder.ts';
import { isAlive } from './alive.ts';
import { launchSource } from './launch.ts';

describe('what a process writes and how it ends', () => {
  test('hands over stderr as lines, the last one too, shortened to 4 KiB', async () => {
    const lines: string[] = [];
    const instance = await launchSource(
      `process.stderr.write('first\\r\\n\\nä'); process.stderr.write('ö\\n' + 'x'.repeat(100_000) + '\\nno line break')`,
      { stderr: line => void lines.push(line) },
    );
    await instance.exited;
    assert.deepEqual(
      lines.map(line => (line.length > 100 ? line.length : line)),
      ['first', 'äö', 4096, 'no line break'],
    );
  });

  test('tells the exit code, and hands over what was written before', async () => {
    const instance = await launchSource(
      `process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'last'}) + '\\n', () => process.exit(7))`,
    );
    const heard = record(instance.channel);
    assert.deepEqual(await instance.exited, {
      code: 7,
      detail: 'the process of tested exited with code 7',
    });
    assert.equal(heard.messages.length, 1);
    assert.match((await instance.channel.closed).reason, /exited with code 7/);
  });

  test('hands over all that many processes wrote just before their end', async () => {
    const source = `require('node:fs').writeSync(1, JSON.stringify({jsonrpc:'2.0',method:'last',params:{text:'x'.repeat(60_000)}}) + '\\n')`;
    const instances = await Promise.all(Array.from({ length: 10 }, () => launchSource(source)));
    const heard = instances.map(({ channel }) => record(channel));
    await Promise.all(instances.map(({ channel }) => channel.closed));
    assert.deepEqual(
      heard.map(({ messages }) => messages.length),
      instances.map(() => 1),
    );
  });

  test('tells the signal that ended it', async () => {
    const instance = await launchSource(`process.kill(process.pid, 'SIGSEGV')`);
    assert.deepEqual(await instance.exited, {
      signal: 'SIGSEGV',
      detail: 'the process of tested was ended by SIGSEGV',
    });
  });

  test('closes the channel when stdout closes, while the process lives', async () => {
    const instance = await launchSource(
      `require('node:fs').closeSync(1); setInterval(() => {}, 1000)`,
    );
    assert.match((await instance.channel.closed).reason, /tested closed its output/);
    assert.ok(isAlive(pidOf(instance.about)));
    assert.equal((await instance.stop({ graceMs: 200 })).signal, 'SIGTERM');
  });

  test('survives a process that does not read', async () => {
    const instance = await launchSource(
      `require('node:fs').closeSync(0); process.stderr.write('ready\\n'); setInterval(() => {}, 1000)`,
    );
    const write = setInterval(() => {
      try {
        instance.channel.send(call(1, 'ping'));
      } catch {
        clearInterval(write);
      }
    }, 5);
    assert.match((await instance.channel.closed).reason, /tested closed its input/);
    clearInterval(write);
    await instance.stop({ graceMs: 200 });
  });
});

function pidOf(about: object): number {
  assert.ok('pid' in about && typeof about.pid === 'number');
  return about.pid;
}
