import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import {
  appendFile,
  cp,
  mkdtemp,
  open,
  readFile,
  readdir,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test, vi } from 'vitest';
import { type AuditOptions, createAudit, readPage, verifyAudit } from '#audit';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';

const dayMs = 86_400_000;
const usual: AuditOptions = {
  enabled: true,
  maxBytes: 8 * 2 ** 20,
  maxAgeMs: 30 * dayMs,
  keep: 10,
  onFailure: 'continue',
};

async function tempFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-audit-'));
  return {
    folder: join(folder, 'audit'),
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  };
}

function auditIn(folder: string, options: Partial<AuditOptions> = {}) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const audit = createAudit(folder, () => ({ ...usual, ...options }), {
    clock,
    log,
    hubVersion: '1.2.3',
    syncFolder: async () => {},
    redaction: { text: text => text.replaceAll('hunter22', '[redacted]'), json: value => value },
  });
  return { audit, clock, logged };
}

const call = {
  method: 'tools/call',
  name: 'files_read',
  server: 'files',
  session: '3',
  client: 'Cursor 1.0',
  at: 1_750_000_000_123,
  tookMs: 4.567_89,
  outcome: 'ok',
} as const;
const message = Buffer.from('{"arguments":{"path":"/a"}}');
const args = { message, start: 13, end: message.length - 1 };

async function textsOf(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.jsonl')).sort();
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')));
  return texts.flatMap(text => text.split('\n').slice(0, -1));
}

const linesOf = async (folder: string) => (await textsOf(folder)).map(text => JSON.parse(text));
const without = (line: object, members: readonly string[]) =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !members.includes(name)));
const messagesOf = async (folder: string) =>
  (await verifyAudit(folder)).problems.map(({ message }) => message);

/** Writes a log with `calls` lines of calls between its first and last line, and stops it. */
async function written(folder: string, calls: number, options: Partial<AuditOptions> = {}) {
  const { audit } = auditIn(folder, options);
  await audit.start();
  for (let index = 0; index < calls; index++)
    audit.recordCall({ ...call, name: `tool_${index}` }, 'cursor', args);
  await audit.stop();
}

async function edit(folder: string, change: (lines: string[]) => readonly string[]) {
  const [name = ''] = (await readdir(folder)).filter(one => one.endsWith('.jsonl'));
  const file = join(folder, name);
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  await writeFile(
    file,
    change(lines)
      .map(line => `${line}\n`)
      .join(''),
  );
}

describe('the audit log', () => {
  test('has a line for each call, with the hash of its arguments and of the line before', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder);
    await audit.start();
    audit.recordCall({ ...call, decision: { action: 'allow', rule: 'policy[1]' } }, 'cursor', args);
    await audit.stop();
    const [first = '', second = ''] = await textsOf(temp.folder);
    assert.deepEqual(JSON.parse(second), {
      seq: 2,
      at: '2025-06-15T15:06:40.123Z',
      kind: 'call',
      principal: 'cursor',
      session: '3',
      client: 'Cursor 1.0',
      server: 'files',
      method: 'tools/call',
      name: 'files_read',
      decision: 'allow',
      rule: 'policy[1]',
      arguments_sha256: hash('sha256', '{"path":"/a"}'),
      outcome: 'ok',
      duration_ms: 4.568,
      previous: hash('sha256', first),
    });
    assert.equal((await stat(temp.folder)).mode & 0o777, 0o700);
    for (const name of await readdir(temp.folder))
      assert.equal((await stat(join(temp.folder, name))).mode & 0o777, 0o600, name);
  });

  test('has lines for changes with what changed, for refusals, and for starts and stops of the hub', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder);
    await audit.start();
    audit.recordChange({
      action: 'server_restart',
      principal: 'owner',
      target: 'files',
      outcome: 'ok',
      details: { status: 200 },
    });
    audit.recordRefusal({
      address: '::1',
      method: 'POST',
      path: '/mcp',
      status: 401,
      reason: 'no token',
      unlogged: 2,
    });
    await audit.stop();
    const at = '2025-06-15T15:06:40.000Z';
    assert.deepEqual(
      (await linesOf(temp.folder)).map(line => without(line, ['seq', 'previous'])),
      [
        { at, kind: 'log', action: 'hub_started', version: '1.2.3' },
        {
          at,
          kind: 'change',
          principal: 'owner',
          action: 'server_restart',
          target: 'files',
          details: { status: 200 },
          outcome: 'ok',
        },
        {
          at,
          kind: 'refusal',
          address: '::1',
          method: 'POST',
          path: '/mcp',
          status: 401,
          reason: 'no token',
          unlogged_before: 2,
        },
        { at, kind: 'log', action: 'hub_stopped' },
      ],
    );
  });

  test('has lines for lists and pings only if they were refused', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder);
    await audit.start();
    const list = { ...call, method: 'tools/list', name: undefined };
    audit.recordCall(list, 'cursor', args);
    audit.recordCall({ ...list, outcome: 'HUB_POLICY_DENIED' }, 'cursor', undefined);
    await audit.stop();
    const outcomes = (await linesOf(temp.folder)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, [undefined, 'HUB_POLICY_DENIED', undefined]);
  });

  test('redacts names and cuts long ones', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder);
    await audit.start();
    audit.recordCall({ ...call, name: 'http://a/?token=hunter22' }, 'cursor', args);
    audit.recordCall({ ...call, name: 'x'.repeat(100_000) }, 'cursor', args);
    audit.recordCall({ ...call, name: `${'x'.repeat(296)}hunter22` }, 'cursor', args);
    audit.recordCall({ ...call, name: 'x'.repeat(300_000) }, 'cursor', args);
    await audit.stop();
    const [, first, second, third, fourth] = await linesOf(temp.folder);
    assert.equal(first.name, 'http://a/?token=[redacted]');
    assert.equal(second.name.length, 300);
    assert.equal(third.name, `${'x'.repeat(296)}[red`);
    assert.equal(fourth.name, '(300000 characters)');
  });

  test('is written in groups, after a tenth of a second', async () => {
    await using temp = await tempFolder();
    const { audit, clock } = auditIn(temp.folder);
    await audit.start();
    const groups: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    audit.written(lines => {
      groups.push(lines.toString().split('\n').length - 1);
      resolve();
    });
    for (let index = 0; index < 32; index++) audit.recordCall(call, 'cursor', args);
    clock.advance(99);
    assert.deepEqual(groups, []);
    clock.advance(1);
    await promise;
    assert.deepEqual(groups, [32]);
    await audit.stop();
  });

  test('is written at once when a page is full', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder, { maxBytes: 65_536 });
    await audit.start();
    const { promise, resolve } = Promise.withResolvers<number>();
    const heard = audit.written(lines => resolve(lines.toString().split('\n').length - 1));
    for (let index = 0; index < 300; index++) audit.recordCall(call, 'cursor', args);
    const count = await promise;
    assert.ok(count > 150 && count < 300, `${count} lines`);
    heard[Symbol.dispose]();
    await audit.stop();
    assert.deepEqual(await messagesOf(temp.folder), []);
    assert.equal((await linesOf(temp.folder)).length, 302);
  });

  test('creates nothing while it is off', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 3, { enabled: false });
    await assert.rejects(readdir(temp.folder), /ENOENT/);
  });
});

describe('the chain', () => {
  test('continues over restarts of the hub and over files', async () => {
    await using temp = await tempFolder();
    for (let run = 0; run < 3; run++) await written(temp.folder, 400, { maxBytes: 65_536 });
    const report = await verifyAudit(temp.folder);
    assert.deepEqual(report.problems, []);
    assert.equal(report.lines, 3 * 402);
    assert.ok(report.files > 3, `${report.files} files`);
    const numbers = (await linesOf(temp.folder)).map(({ seq }) => seq);
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => index + 1),
    );
  });

  test('reveals a changed line', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 5);
    await edit(temp.folder, lines => lines.map(line => line.replace('tool_2', 'tool_9')));
    assert.deepEqual(await messagesOf(temp.folder), [
      'line 4 was changed, or line 5: their hashes differ',
    ]);
  });

  test('of lines that share a hash narrows a changed line down to a few lines', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 60);
    const texts = await textsOf(temp.folder);
    const linked = texts.flatMap((text, index) => (text.includes('"previous"') ? [index + 1] : []));
    // The first line is a page by itself. The next page has 16 lines with a hash each, then one hash per 16 lines.
    assert.deepEqual(linked, [1, ...Array.from({ length: 16 }, (_, at) => at + 2), 33, 49]);
    const starts = [...linked, texts.length + 1];
    for (const [index] of texts.entries()) {
      const number = index + 1;
      const next = starts.findIndex(start => start > number);
      const [from = 0, end = 0] = [starts[next - 1], starts[next]];
      await edit(temp.folder, lines =>
        lines.map((line, at) => (at === index ? line.replace('Z"', '0Z"') : line)),
      );
      const changed =
        end - from === 1 ? `line ${from} was` : `one of the lines ${from} to ${end - 1} was`;
      const expected =
        end > texts.length
          ? `${changed} changed: the file "head" has another hash`
          : `${changed} changed, or line ${end}: their hashes differ`;
      assert.deepEqual(await messagesOf(temp.folder), [expected], `line ${number}`);
      await edit(temp.folder, () => texts);
    }
  });

  test('of lines that share a hash reveals lines that were removed, moved, added or truncated', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 60);
    const texts = await textsOf(temp.folder);
    const messagesAfter = async (change: (lines: string[]) => readonly string[]) => {
      await edit(temp.folder, change);
      const messages = await messagesOf(temp.folder);
      await edit(temp.folder, () => texts);
      return messages;
    };
    assert.deepEqual(await messagesAfter(lines => lines.toSpliced(39, 2)), [
      'lines 40 to 41 are missing before line 42',
    ]);
    assert.deepEqual(await messagesAfter(lines => lines.toSpliced(40, 0, lines[39] ?? '')), [
      'line 40 stands after line 40: it was moved or added',
    ]);
    const swapped = await messagesAfter(lines =>
      lines.toSpliced(39, 2, lines[40] ?? '', lines[39] ?? ''),
    );
    assert.match(
      String(swapped),
      /^line 40 is missing before line 41,line 40 stands after line 41/,
    );
    // Lines without hashes would form a block that is never checked.
    const bare = await messagesAfter(lines =>
      lines.map((line, index) => (index < 20 ? line : line.replace(/,"previous":"\w+"/, ''))),
    );
    assert.match(String(bare), /^line 33 was changed: it lacks the hash of earlier lines/);
  });

  test('continues after long lines, of which fewer share a hash', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder);
    await audit.start();
    const details = { changed: 'x'.repeat(8_000) };
    for (let index = 0; index < 26; index++)
      audit.recordChange({
        action: 'config_changed',
        principal: undefined,
        outcome: 'ok',
        details,
      });
    await audit.stop();
    await rm(join(temp.folder, 'head'));
    await written(temp.folder, 1);
    assert.deepEqual(await messagesOf(temp.folder), []);
    const linked = (await linesOf(temp.folder)).filter(({ previous }) => previous !== undefined);
    // The last single line and the 11 after it form blocks of five lines; all other lines are blocks of one.
    assert.equal(linked.length, 1 + 16 + 2 + 3);
  });

  test('continues a log in which each line has a hash', async () => {
    await using temp = await tempFolder();
    await cp(join(import.meta.dirname, '../data/audit-hash-per-line'), temp.folder, {
      recursive: true,
    });
    assert.deepEqual(await verifyAudit(temp.folder), {
      files: 1,
      lines: 8,
      last: {
        seq: 8,
        hash: '6253021644877178b79adc1caf219a28e41f629c56a011ded67a05148528a7c5',
        at: '2025-06-15T15:06:40.000Z',
      },
      problems: [],
      torn: undefined,
    });
    await written(temp.folder, 40);
    assert.deepEqual(await messagesOf(temp.folder), []);
    assert.equal((await linesOf(temp.folder)).length, 8 + 42);
    const { lines } = await readPage(temp.folder, { tool: 'tool_4' }, { limit: 10 });
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      [14, 6],
    );
    const texts = await textsOf(temp.folder);
    for (const number of [1, 5, 8]) {
      await edit(temp.folder, all =>
        all.map((line, index) => (index === number - 1 ? line.replace('Z"', '0Z"') : line)),
      );
      assert.deepEqual(await messagesOf(temp.folder), [
        `line ${number} was changed, or line ${number + 1}: their hashes differ`,
      ]);
      await edit(temp.folder, () => texts);
    }
  });

  test('reveals removed lines, also at the beginning and at the end', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 5);
    await edit(temp.folder, lines => lines.filter((_, index) => ![0, 3, 4, 6].includes(index)));
    assert.deepEqual(await messagesOf(temp.folder), [
      'line 1 is missing at the start of the file',
      'lines 4 to 5 are missing before line 6',
      'line 7 is missing at the end',
    ]);
    await edit(temp.folder, () => []);
    assert.deepEqual(await messagesOf(temp.folder), ['lines 1 to 7 are missing at the end']);
  });

  test('reveals a removed file, and a last line that was changed', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 600, { maxBytes: 65_536 });
    const [first = '', second = ''] = (await readdir(temp.folder)).sort();
    await rm(join(temp.folder, second));
    assert.match(
      String(await messagesOf(temp.folder)),
      /^lines \d+ to \d+ are missing before line \d+$/,
    );
    await rm(join(temp.folder, first));
    assert.match(
      String(await messagesOf(temp.folder)),
      /^lines 1 to \d+ are missing at the beginning$/,
    );
  });

  test('still reveals, after a restart of the hub, lines that were removed before', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 5);
    await edit(temp.folder, lines => lines.slice(0, -2));
    await written(temp.folder, 1);
    assert.deepEqual(await messagesOf(temp.folder), ['lines 6 to 7 are missing before line 8']);
    const noted = (await linesOf(temp.folder)).find(({ action }) => action === 'lines_missing');
    assert.deepEqual([noted.from_seq, noted.through_seq], [6, 7]);
    await edit(temp.folder, lines =>
      lines.map((line, index) =>
        index === lines.length - 1 ? line.replace('hub_stopped', 'hub_crashed') : line,
      ),
    );
    await written(temp.folder, 1);
    assert.match(
      String((await messagesOf(temp.folder)).at(-1)),
      /^line 11 was changed, or line 12/,
    );
  });

  test('continues after a truncated last line, which it removes and reports', async () => {
    await using temp = await tempFolder();
    await written(temp.folder, 5);
    const [name = ''] = (await readdir(temp.folder)).filter(one => one.endsWith('.jsonl'));
    await appendFile(join(temp.folder, name), '{"seq":8,"at":"2025');
    const torn = await verifyAudit(temp.folder);
    assert.deepEqual([torn.torn, torn.problems], [name, []]);
    await written(temp.folder, 1);
    const report = await verifyAudit(temp.folder);
    assert.deepEqual([report.torn, report.problems, report.lines], [undefined, [], 11]);
    const noted = (await linesOf(temp.folder))[7];
    assert.deepEqual([noted.action, noted.bytes], ['torn_line_removed', 19]);
  });

  test.each([
    { calls: 2, bytes: 400, step: 7 },
    { calls: 50, bytes: 8_000, step: 397 },
  ])(
    'survives a crash at every byte of its last lines, of $calls',
    async ({ calls, bytes, step }) => {
      await using temp = await tempFolder();
      await written(temp.folder, calls);
      const [name = ''] = (await readdir(temp.folder)).filter(one => one.endsWith('.jsonl'));
      const file = join(temp.folder, name);
      const whole = await readFile(file);
      for (let size = whole.length - bytes; size < whole.length; size += step) {
        await writeFile(file, whole);
        await truncate(file, size);
        await rm(join(temp.folder, 'head'));
        await written(temp.folder, 1);
        assert.deepEqual(await messagesOf(temp.folder), [], `cut at ${size}`);
      }
    },
  );
});

describe('files of the audit log', () => {
  test('are followed by others when they are old, and the oldest are removed with a line that says so', async () => {
    await using temp = await tempFolder();
    const { audit, clock } = auditIn(temp.folder, { keep: 2 });
    await audit.start();
    for (let month = 0; month < 4; month++) {
      audit.recordCall(call, 'cursor', args);
      await audit.list({}, { limit: 1 });
      clock.advance(31 * dayMs);
    }
    await audit.stop();
    const names = (await readdir(temp.folder)).filter(name => name.endsWith('.jsonl'));
    assert.equal(names.length, 2);
    assert.deepEqual(await messagesOf(temp.folder), []);
    const removed = (await linesOf(temp.folder)).filter(({ action }) => action === 'files_removed');
    assert.deepEqual(
      removed.map(({ through_seq: through }) => through),
      [3, 5],
    );
  });
});

describe('a page of the audit log', () => {
  test('has the newest lines that match, and continues where it ended', async () => {
    await using temp = await tempFolder();
    const { audit } = auditIn(temp.folder, { maxBytes: 65_536 });
    await audit.start();
    for (let index = 0; index < 1_000; index++)
      audit.recordCall(
        {
          ...call,
          name: index % 2 === 0 ? 'files_read' : 'web_fetch',
          outcome: index % 5 === 0 ? 'HUB_SERVER_BUSY' : 'ok',
          at: call.at + index * 1_000,
          tookMs: 0,
        },
        index % 3 === 0 ? 'zed' : 'cursor',
        args,
      );
    const filter = { client: 'zed', tool: 'files_r*', isDenied: true };
    const seen: number[] = [];
    for (let before: number | undefined; ;) {
      const { lines, next } = await audit.list(filter, { limit: 10, before });
      seen.push(...lines.map(({ seq }) => seq));
      if (next === undefined) break;
      before = next;
    }
    const expected = Array.from({ length: 1_000 }, (_, index) => index).filter(
      index => index % 30 === 0,
    );
    assert.deepEqual(seen, expected.map(index => index + 2).reverse());
    const recent = await audit.list({ since: call.at + 990_000 }, { limit: 50 });
    assert.equal(recent.lines.length, 10);
    await audit.stop();
  });
});

test('a page since a time has also the earlier lines from before the clock was set back', async () => {
  await using temp = await tempFolder();
  const { audit } = auditIn(temp.folder);
  await audit.start();
  // The clock jumps back before the third call, and is right again at the fourth.
  for (const minutes of [20, 21, 17, 23])
    audit.recordCall({ ...call, at: call.at + minutes * 60_000, tookMs: 0 }, 'ada', args);
  const { lines } = await audit.list({ since: call.at + 19 * 60_000 }, { limit: 50 });
  assert.deepEqual(
    lines.flatMap(({ kind, seq }) => (kind === 'call' ? [seq] : [])),
    [5, 3, 2],
  );
  await audit.stop();
});

describe('while lines cannot be written', () => {
  test('calls are served or refused as the config says, and lost lines are counted', async () => {
    await using temp = await tempFolder();
    await writeFile(temp.folder, 'a file where the folder should be');
    const { audit, clock, logged } = auditIn(temp.folder, { onFailure: 'refuse' });
    await audit.start();
    assert.equal(audit.refuses('tools/call'), true);
    assert.equal(audit.refuses('tools/list'), false);
    assert.equal((await audit.status()).kind, 'failing');
    for (let index = 0; index < 20_000; index++) audit.recordCall(call, 'cursor', args);
    await rm(temp.folder);
    const again = new Promise<void>(resolve => void audit.written(() => resolve()));
    clock.advance(1_000);
    await again;
    assert.equal((await audit.status()).kind, 'up');
    assert.equal(audit.refuses('tools/call'), false);
    await audit.stop();
    const lines = await linesOf(temp.folder);
    const [noted] = lines.filter(({ action }) => action === 'lines_lost');
    assert.equal(lines.filter(({ kind }) => kind === 'call').length + noted.lines, 20_000);
    assert.deepEqual(await messagesOf(temp.folder), []);
    assert.deepEqual(
      logged.map(({ message }) => message),
      ['the audit log cannot be written', 'the audit log is written again'],
    );
  });

  test('a failed sync is retried without a new line', async () => {
    await using temp = await tempFolder();
    const { audit, clock, logged } = auditIn(temp.folder, { onFailure: 'refuse' });
    await audit.start();
    const probe = await open(join(temp.folder, 'head'));
    const datasync = vi
      .spyOn(Object.getPrototypeOf(probe), 'datasync')
      .mockRejectedValue(new Error('EIO: i/o error, fdatasync'));
    await probe.close();
    clock.advance(1_000);
    await audit.list({}, { limit: 1 });
    assert.equal(audit.refuses('tools/call'), true);
    assert.equal((await audit.status()).kind, 'failing');
    datasync.mockRestore();
    clock.advance(1_000);
    await audit.list({}, { limit: 1 });
    assert.equal(audit.refuses('tools/call'), false);
    assert.equal((await audit.status()).kind, 'up');
    assert.deepEqual(
      logged.map(({ message }) => message),
      ['the audit log cannot be written', 'the audit log is written again'],
    );
    await audit.stop();
  });
});

afterEach(() => vi.restoreAllMocks());
