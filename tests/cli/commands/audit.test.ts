import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createAudit } from '#audit';
import { connect } from '#helpers/client';
import { createManualClock } from '#helpers/clock';
import { startHub } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { silent } from '#core';
import { fieldOf, jsonOf } from '../hub.ts';
import { run } from '../run.ts';

const day = 86_400_000;
const options = {
  enabled: true,
  maxBytes: 2 ** 20,
  maxAgeMs: 30 * day,
  keep: 8,
  onFailure: 'continue',
} as const;

/** Creates a data folder with the audit log of a hub that has stopped. */
async function stoppedHub() {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-audit-cli-'));
  const clock = createManualClock();
  const audit = createAudit(join(dataDir, 'audit'), () => options, {
    clock,
    log: silent,
    hubVersion: '1.0.0',
    syncFolder: async () => {},
    redaction: { text: text => text, json: value => value },
  });
  await audit.start();
  const call = {
    method: 'tools/call',
    name: 'files_read',
    server: 'files',
    session: '1',
    client: 'Cursor 1',
    at: clock.now(),
    tookMs: 1.5,
    outcome: 'ok',
  } as const;
  audit.recordCall(call, 'cursor', undefined);
  const decision = { action: 'deny', rule: 'policy[0]' };
  const denied = { ...call, name: 'files_write', outcome: 'HUB_POLICY_DENIED', decision };
  audit.recordCall(denied, 'zed', undefined);
  audit.recordChange({
    action: 'config_changed',
    principal: undefined,
    outcome: 'ok',
    details: { added: ['web'] },
  });
  audit.recordRefusal({
    address: '::1',
    method: 'GET',
    path: '/servers',
    status: 401,
    reason: 'no',
    unlogged: 0,
  });
  await audit.stop();
  const url = `http://127.0.0.1:${await freePort()}`;
  const findHub = async () => ({ url, token: undefined });
  return {
    folder: join(dataDir, 'audit'),
    cli: async (...args: readonly string[]) =>
      await run(['audit', ...args], { findHub, findDataFolders: async () => [dataDir] }),
    [Symbol.asyncDispose]: async () => await rm(dataDir, { recursive: true }),
  };
}

describe('audit without a running hub', () => {
  test('shows the lines of the data folder, the newest last', async () => {
    await using hub = await stoppedHub();
    const { code, out } = await hub.cli();
    assert.equal(code, 0);
    assert.deepEqual(
      out.split('\n').map(line => line.split(/ {2,}/)),
      [
        ['TIME', 'WHO', 'WHAT', 'SERVER', 'OUTCOME', 'MS'],
        ['2025-06-15 15:06:40.000', 'hub_started'],
        ['2025-06-15 15:06:40.000', 'cursor', 'files_read', 'files', 'ok', '1.5'],
        [
          '2025-06-15 15:06:40.000',
          'zed',
          'files_write',
          'files',
          'HUB_POLICY_DENIED (policy[0])',
          '1.5',
        ],
        ['2025-06-15 15:06:40.000', 'config_changed {"added":["web"]}', 'ok'],
        ['2025-06-15 15:06:40.000', '::1', 'GET /servers', 'refused 401'],
        ['2025-06-15 15:06:40.000', 'hub_stopped'],
      ],
    );
  });

  test.each([
    [['--client', 'zed'], ['files_write']],
    [['--tool', 'files_r*'], ['files_read']],
    [['--server', 'files', '-n', '1'], ['files_write']],
    [['--denied'], [undefined, 'files_write']],
    [['--since', '2025-06-15T15:06:39Z', '--client', 'cursor'], ['files_read']],
    [['--since', '1h'], []],
  ])('%j selects lines', async (args, names) => {
    await using hub = await stoppedHub();
    const lines = fieldOf(jsonOf((await hub.cli(...args, '--json')).out), 'lines');
    assert.ok(Array.isArray(lines));
    assert.deepEqual(
      lines.map((line: unknown) => fieldOf(line, 'name')),
      names,
    );
  });

  test('verify says whether lines were changed, and exits with 1 if so', async () => {
    await using hub = await stoppedHub();
    const whole = await hub.cli('verify');
    assert.equal(whole.code, 0);
    assert.match(whole.out, /^6 lines in 1 file\nlast line: 6, SHA-256 [0-9a-f]{64}\nno line was/);
    const [name = ''] = (await readdir(hub.folder)).filter(one => one.endsWith('.jsonl'));
    const text = await readFile(join(hub.folder, name), 'utf8');
    await writeFile(join(hub.folder, name), text.replace('"zed"', '"bob"'));
    const changed = await hub.cli('verify');
    assert.equal(changed.code, 1);
    assert.match(changed.err, /^audit-\d+\.jsonl:4: line 3 was changed, or line 4: their hashes/);
  });

  test.each([
    [['--since', 'soon'], /^--since: "soon" is not allowed/],
    [['remove'], /^audit: write "agenthub audit"/],
  ])('%j is refused', async (args, message) => {
    await using hub = await stoppedHub();
    const { code, err } = await hub.cli(...args);
    assert.equal(code, 2);
    assert.match(err, message);
  });
});

test('audit of a running hub shows, follows and verifies its lines', async () => {
  const echo = join(import.meta.dirname, '../../fixtures/servers/echo.mjs');
  const servers = { echo: { command: process.execPath, args: [echo], runtime: 'process' } };
  await using hub = await startHub({ config: { servers } });
  const key = hub.ownerHeaders.authorization.slice('Bearer '.length);
  const findHub = async () => ({
    url: hub.url,
    token: undefined,
    ownerAccess: async () => ({ key, dial: undefined }),
  });
  await using client = await connect(`${hub.url}/mcp/echo`);
  await client.call('echo', { text: 'a' });
  const ending = new AbortController();
  const following = run(
    ['audit', '-f', '--tool', 'echo', '--json'],
    { findHub },
    {
      signal: ending.signal,
      onOut(text) {
        const lines = text.split('\n').length - 1;
        if (lines === 1) void client.call('echo', { text: 'b' });
        if (lines === 2) ending.abort();
      },
    },
  );
  await fetch(`${hub.url}/mcp/echo/resources/read`, {
    method: 'POST',
    body: JSON.stringify({ uri: 'x://\n2026-01-01 00:00:00.000  owner  config_reload' }),
  });
  const reading = new AbortController();
  const read = await run(
    ['audit', '-f', '--tool', 'x://*'],
    { findHub },
    { signal: reading.signal, onOut: () => reading.abort() },
  );
  assert.deepEqual(
    read.out.split('\n').filter(line => line.startsWith('2026-01-01')),
    [],
  );
  const { out, code } = await following;
  assert.equal(code, 0);
  assert.deepEqual(
    out.split('\n').map(line => fieldOf(jsonOf(line), 'outcome')),
    ['ok', 'ok'],
  );
  assert.match((await run(['audit', '--tool', 'echo'], { findHub })).out, /local +echo +echo +ok/);
  assert.match((await run(['audit', 'verify'], { findHub })).out, /no line was changed or removed/);
});
