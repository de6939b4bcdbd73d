import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call, record, until } from '../../contracts/recorder.ts';
import { isAlive } from './alive.ts';
import { launchSource } from './launch.ts';

describe('a process', () => {
  test('passes on stderr as lines, including the last one, cut to 4 KiB', async () => {
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

  test('reports its exit code, after all earlier output', async () => {
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

  test('has all output passed on that its children wrote just before their end', async () => {
    const source = `require('node:fs').writeSync(1, JSON.stringify({jsonrpc:'2.0',method:'last',params:{text:'x'.repeat(60_000)}}) + '\\n')`;
    const instances = await Promise.all(Array.from({ length: 10 }, () => launchSource(source)));
    const heard = instances.map(({ channel }) => record(channel));
    await Promise.all(instances.map(({ channel }) => channel.closed));
    assert.deepEqual(
      heard.map(({ messages }) => messages.length),
      instances.map(() => 1),
    );
  });

  test('has its secrets in its environment, and reports it', async () => {
    const source = `process.exit(process.env.TOKEN === 'hush' ? 3 : 4)`;
    const instance = await launchSource(source, { env: { TOKEN: 'hush' }, secretEnv: ['TOKEN'] });
    assert.equal(instance.secrets, 'environment');
    assert.equal((await instance.exited).code, 3);
    assert.ok(!('secrets' in (await launchSource('', { env: { TOKEN: 'hush' } }))));
  });

  test('reports the signal that ended it', async () => {
    const instance = await launchSource(`process.kill(process.pid, 'SIGSEGV')`);
    assert.deepEqual(await instance.exited, {
      signal: 'SIGSEGV',
      detail: 'the process of tested was ended by SIGSEGV',
    });
  });

  test('closes the channel when its stdout closes, while it lives', async () => {
    const instance = await launchSource(
      `require('node:fs').closeSync(1); setInterval(() => {}, 1000)`,
    );
    assert.match((await instance.channel.closed).reason, /tested closed its output/);
    assert.ok(isAlive(pidOf(instance.about)));
    assert.deepEqual(await instance.stop({ graceMs: 200 }), {
      signal: 'SIGTERM',
      detail: 'the process of tested closed its output, and was ended',
    });
  });

  test('that does not read its input does not affect the hub', async () => {
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

describe('stopping a process', () => {
  const ready = (method: string) =>
    `process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'${method}',params:{pid:globalThis.child?.pid}}) + '\\n');`;

  test('closes its input first, after pending output', async () => {
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

  test('sends SIGTERM to one that keeps running, and SIGKILL to one that ignores it', async () => {
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
  ] as const)('leaves no child that ignores SIGTERM, %s', async ([, how]) => {
    const instance = await launchSource(
      `${child(how)} process.stdin.on('end', () => process.exit(0)).resume(); ${ready('up')}`,
    );
    const [up] = await record(instance.channel).notifications('up', 1);
    const { pid } = JSON.parse(up ?? '').params;
    assert.ok(isAlive(pid));
    assert.equal((await instance.stop({ graceMs: 1_000 })).code, 0);
    assert.ok(!isAlive(pid), 'the child lives on');
  });

  test('leaves no child when the process crashes', async () => {
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

function pidOf(about: object): number {
  assert.ok('pid' in about && typeof about.pid === 'number');
  return about.pid;
}
