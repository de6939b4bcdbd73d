import assert from 'node:assert/strict';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type SourceLine, createLogs } from '#logs';
import { redactText } from '#telemetry';

let folder = '';
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'agenthub-logs-'))));
afterEach(async () => await rm(folder, { recursive: true }));

const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123';

/** Opens the logs of a run of the hub. `open` reads the logs of earlier runs. */
async function openLogs(servers: readonly string[] = ['memory'], redact = redactText) {
  const clock = createManualClock();
  const warnings: unknown[] = [];
  const warn = (error: unknown) => void warnings.push(error);
  const logs = createLogs(folder, { clock, redact, warn });
  await logs.open(servers);
  const read = async (server = 'memory', back = 0, lines = 100) =>
    await logs.read({ servers: [server], isHubWanted: false, back, lines });
  return { clock, warnings, logs, read };
}

const textsOf = (lines: readonly SourceLine[]) => lines.map(({ text, event }) => event ?? text);

describe('the lines of a server', () => {
  test('are stored by runs, with their times, over a restart of the hub', async () => {
    const first = await openLogs();
    const memory = first.logs.server('memory');
    memory.begin();
    memory.add({ text: 'one' });
    first.clock.advance(1_000);
    memory.add({ text: 'two' });
    memory.end('exit code 1');
    memory.end('is told once');
    memory.begin();
    memory.add({ text: 'three' });
    await first.logs.stop();

    const { read, logs } = await openLogs();
    assert.deepEqual(textsOf(await read()), ['began', 'three']);
    const before = await read('memory', 1);
    assert.deepEqual(textsOf(before), ['began', 'one', 'two', 'ended']);
    assert.equal((before[2]?.at ?? 0) - (before[1]?.at ?? 0), 1_000);
    assert.equal(before.at(-1)?.text, 'exit code 1');
    const runs = await logs.runs('memory');
    assert.deepEqual(
      runs.map(({ run, how }) => [run, how]),
      [
        [2, undefined],
        [1, 'exit code 1'],
      ],
    );
    assert.deepEqual(await read('memory', 2), [], 'there is no third run');
  });

  test('that are queued when the logs stop are still written', async () => {
    const { clock, logs } = await openLogs();
    logs.server('memory').add({ text: 'late' });
    clock.advance(1_000);
    await logs.stop();
    const [file = ''] = await readdir(join(folder, 'servers', 'memory'));
    assert.match(await readFile(join(folder, 'servers', 'memory', file), 'utf8'), /"late"/);
  });

  test('are read even if a run begins meanwhile', async () => {
    const { logs, read } = await openLogs();
    const memory = logs.server('memory');
    memory.add({ text: 'one' });
    const reading = read();
    await Promise.resolve();
    memory.begin();
    assert.deepEqual(textsOf(await reading), ['began', 'one']);
    assert.deepEqual(textsOf(await read()), ['began']);
  });

  test('are written again after the folder was removed', async () => {
    const { logs, read, warnings } = await openLogs();
    const memory = logs.server('memory');
    memory.add({ text: 'one' });
    await read();
    await rm(join(folder, 'servers'), { recursive: true });
    memory.add({ text: 'two' });
    assert.deepEqual(textsOf(await read()), ['two']);
    assert.deepEqual(warnings, []);
  });

  test('of a program that outlived the hub continue its run', async () => {
    const first = await openLogs();
    first.logs.server('memory').begin();
    first.logs.server('memory').add({ text: 'before' });
    await first.logs.stop();
    const { logs, read } = await openLogs();
    logs.server('memory').resume();
    logs.server('memory').add({ text: 'after' });
    assert.deepEqual(textsOf(await read()), ['began', 'before', 'after']);
  });

  test('are merged with those of others by time, the newest within the number asked for', async () => {
    const { logs, clock } = await openLogs(['a', 'b']);
    for (const [at, name] of ['a', 'b', 'a'].entries()) {
      clock.advance(10);
      logs.server(name).add({ text: `${name}${at}` });
    }
    logs.hub.add({ text: 'mine', level: 'warn' });
    const query = { servers: ['a', 'b'], isHubWanted: true, back: 0, lines: 4 };
    const lines = await logs.read(query);
    assert.deepEqual(
      lines.map(({ server, text, level }) => [server, text, level]),
      [
        ['b', 'b1', undefined],
        ['a', 'a2', undefined],
        [undefined, '', undefined],
        [undefined, 'mine', 'warn'],
      ],
    );
    assert.deepEqual(await logs.read({ ...query, lines: 0 }), []);
  });

  test('are redacted before they are written, also a secret over several lines', async () => {
    const known = 'first line\nsecond line';
    const { logs, read } = await openLogs(['memory'], text =>
      redactText(text).replaceAll(known, '[redacted]'),
    );
    const memory = logs.server('memory');
    for (const text of [`uses ${token}`, 'it is first line', 'second line of it', 'and goes on'])
      memory.add({ text });
    memory.end('exit code 1');
    const expected = ['began', 'uses [redacted]', 'it is [redacted] of it', 'and goes on', 'ended'];
    assert.deepEqual(textsOf(await read()), expected);
    const file = join(folder, 'servers', 'memory', '000001.jsonl');
    assert.doesNotMatch(await readFile(file, 'utf8'), /ghp_|second line/);
    // With two writes, the first is on the disk before the second.
    memory.add({ text: 'first line' });
    await memory.write();
    memory.add({ text: 'second line' });
    assert.deepEqual(textsOf(await read()), [...expected, '[redacted]']);
  });

  test('of a burst are dropped and counted, and the newest stay', async () => {
    const { logs, read } = await openLogs();
    const memory = logs.server('memory');
    for (let at = 0; at < 1_000; at++) memory.add({ text: `${at} ${'x'.repeat(195)}` });
    const lines = await read('memory', 0, 10_000);
    assert.ok(lines.length < 400, String(lines.length));
    assert.match(lines[0]?.text ?? '', /^6\d\d lines came too fast to be kept$/);
    assert.match(lines.at(-1)?.text ?? '', /^999 /);
  });

  test('of a burst of short lines are dropped as well, and their files stay within the limit', async () => {
    const { logs, read } = await openLogs();
    const memory = logs.server('memory');
    for (let at = 0; at < 20_000; at++) memory.add({ text: at % 2 === 0 ? '' : '.' });
    memory.add({ text: 'last' });
    const lines = await read('memory', 0, 100_000);
    assert.ok(lines.length < 5_000, String(lines.length));
    assert.match(lines[0]?.text ?? '', /^1\d{4} lines came too fast to be kept$/);
    assert.equal(lines.at(-1)?.text, 'last');
    const { size } = await stat(join(folder, 'servers', 'memory', '000001.jsonl'));
    assert.ok(size <= 128 * 1024, String(size));
  });

  test('that need many bytes on the disk stay within the limit of their files', async () => {
    const { logs, read } = await openLogs();
    const memory = logs.server('memory');
    for (let at = 0; at < 16; at++) memory.add({ text: '\u0001'.repeat(4_000) });
    memory.add({ text: 'last' });
    assert.equal((await read()).at(-1)?.text, 'last');
    const place = join(folder, 'servers', 'memory');
    for (const file of await readdir(place)) {
      const { size } = await stat(join(place, file));
      assert.ok(size <= 128 * 1024, `${file}: ${size}`);
    }
  });

  test('are bounded in each run, and in the number of runs', async () => {
    const { logs, read } = await openLogs();
    const memory = logs.server('memory');
    for (let at = 0; at < 40; at++) {
      memory.add({ text: `${at} ${'x'.repeat(9_000)}` });
      await memory.write();
    }
    const lines = await read('memory', 0, 10_000);
    assert.ok(lines.length > 14 && lines.length < 29, `${lines.length} lines of 9 KB in 256 KiB`);
    assert.match(lines.at(-1)?.text ?? '', /^39 /);
    for (let at = 0; at < 10; at++) {
      memory.begin();
      await memory.write();
    }
    const runs = await logs.runs('memory');
    assert.deepEqual(
      runs.map(({ run }) => run),
      [11, 10, 9, 8, 7, 6, 5, 4],
    );
    assert.equal((await readdir(join(folder, 'servers', 'memory'))).length, 8);
  });

  test('keep the beginning of their run, however many follow', async () => {
    const { clock, logs, read } = await openLogs();
    const memory = logs.server('memory');
    memory.begin();
    const beganAt = clock.now();
    for (let at = 0; at < 60; at++) {
      clock.advance(60_000);
      memory.add({ text: `${at} ${'x'.repeat(9_000)}` });
      await memory.write();
    }
    memory.end('exit code 1');
    const [run] = await logs.runs('memory');
    assert.deepEqual(run, { run: 1, beganAt, endedAt: beganAt + 3_600_000, how: 'exit code 1' });
    const lines = await read('memory', 0, 10_000);
    assert.equal(lines.filter(({ event }) => event === 'began').length, 1);
    assert.equal(lines[0]?.event, 'began');
    const { mode } = await stat(join(folder, 'servers', 'memory', '000001.old.jsonl'));
    assert.equal(mode & 0o777, 0o600);
  });

  test('are read despite a truncated file, and are removed with their server', async () => {
    const { logs, read } = await openLogs();
    logs.server('memory').add({ text: 'whole' });
    await read();
    const file = join(folder, 'servers', 'memory', '000001.jsonl');
    await writeFile(file, '{"t":1,"s":"to', { flag: 'a' });
    assert.deepEqual(textsOf(await read()), ['began', 'whole']);
    await logs.forget('memory');
    assert.deepEqual(await readdir(join(folder, 'servers')), []);
    assert.deepEqual(await read(), []);
  });

  test('are reported as they are added, without a gap or an overlap to those read before', async () => {
    const { logs } = await openLogs();
    const told: string[] = [];
    logs.server('memory').add({ text: 'early' });
    const lines = await logs.read(
      { servers: ['memory'], isHubWanted: false, back: 0, lines: 10 },
      () => {
        logs.added(line => void told.push(line.text));
        // Adds a line after the read has determined its last line, and before it has finished.
        queueMicrotask(() => logs.server('memory').add({ text: 'late' }));
      },
    );
    assert.deepEqual(textsOf(lines), ['began', 'early']);
    assert.deepEqual(told, ['late']);
  });

  test('that cannot be written are lost with one warning, and the hub continues', async () => {
    await writeFile(join(folder, 'servers'), 'a file where the folder should be');
    const { logs, warnings } = await openLogs();
    const before = warnings.length;
    for (const text of ['one', 'two']) {
      logs.server('memory').add({ text });
      await logs.server('memory').write();
    }
    assert.equal(warnings.length, before + 1);
  });
});

test('a truncated line does not affect other lines', async () => {
  const first = await openLogs();
  first.logs.server('memory').add({ text: 'one' });
  await first.logs.stop();
  await appendFile(join(folder, 'servers', 'memory', '000001.jsonl'), '{"t":17500');

  const { logs, read } = await openLogs();
  logs.server('memory').resume();
  logs.server('memory').add({ text: 'two' });
  assert.deepEqual(textsOf(await read()), ['began', 'one', 'two']);
});

test('the age of the log of a removed server counts from its last line', async () => {
  const place = join(folder, 'servers', 'recent');
  await mkdir(place, { recursive: true });
  const day = 24 * 3_600;
  const now = 1_750_000_000;
  for (const [name, days] of [
    ['000001.jsonl', 1],
    ['000001.old.jsonl', 20],
  ] as const) {
    await writeFile(join(place, name), '');
    await utimes(join(place, name), now - days * day, now - days * day);
  }
  await utimes(place, now - 20 * day, now - 20 * day);
  await openLogs();
  assert.deepEqual(await readdir(join(folder, 'servers')), ['recent']);
});

test('logs of servers that were removed a week ago are deleted, newer ones stay', async () => {
  const day = 24 * 3_600;
  for (const [name, days] of [
    ['gone', 8],
    ['recent', 1],
    ['memory', 99],
  ] as const) {
    const place = join(folder, 'servers', name);
    await mkdir(place, { recursive: true });
    const seconds = 1_750_000_000 - days * day;
    await utimes(place, seconds, seconds);
  }
  await openLogs();
  assert.deepEqual((await readdir(join(folder, 'servers'))).toSorted(), ['memory', 'recent']);
});

test('a server that is added again while the hub runs gets a new run', async () => {
  const first = await openLogs();
  first.logs.server('memory').begin();
  first.logs.server('memory').add({ text: 'before it was gone' });
  await first.logs.stop();

  const { logs, read } = await openLogs([]);
  logs.server('memory').add({ text: 'since it is back' });
  assert.deepEqual(textsOf(await read()), ['began', 'since it is back']);
  assert.deepEqual(textsOf(await read('memory', 1)), ['began', 'before it was gone']);
});

test('only the user of the hub may read them', async () => {
  const { logs, read } = await openLogs();
  logs.server('memory').add({ text: 'private' });
  await read();
  const place = join(folder, 'servers', 'memory');
  assert.equal((await stat(place)).mode & 0o077, 0);
  assert.equal((await stat(join(place, '000001.jsonl'))).mode & 0o077, 0);
});
