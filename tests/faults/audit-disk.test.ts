import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { verifyAudit } from '#audit';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { type HubProcess, getJson, startHub, states, until } from '#helpers/hub-process';
import { mount, mountProblem } from './small-disk.ts';

const servers = {
  echo: {
    command: process.execPath,
    args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
    runtime: 'process',
    auto_start: true,
  },
};

/** Starts a hub whose audit log is on a small disk. */
async function startOnSmallDisk(onFailure: string) {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-audit-disk-'));
  stack.defer(async () => await rm(dataDir, { recursive: true, force: true }));
  const folder = join(dataDir, 'audit');
  await mkdir(folder);
  const disk = stack.use(await mount(folder, '2m'));
  const config = { servers, audit: { on_failure: onFailure } };
  const hub = stack.use(await startHub({ config, dataDir }));
  await until(
    () => states(hub),
    ({ echo }) => echo === 'running',
    20_000,
  );
  const started = stack.move();
  return { hub, disk, folder, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function auditOf(hub: HubProcess) {
  const health = await getJson(hub, '/health');
  assert.ok(isObject(health) && isObject(health['parts']));
  return { status: health['status'], part: health['parts']['audit'] };
}

async function linesOf(folder: string) {
  const names = (await readdir(folder)).filter(name => name.endsWith('.jsonl')).sort();
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')));
  return texts
    .flatMap(text => text.split('\n').slice(0, -1))
    .map((text): Record<string, unknown> => JSON.parse(text));
}

/** Makes calls until the audit log cannot be written. Returns the number of calls. */
async function callUntilFull(hub: HubProcess, call: () => Promise<unknown>): Promise<number> {
  for (let calls = 0; ; calls += 100) {
    for (let index = 0; index < 100; index++) await call();
    if ((await auditOf(hub)).status === 'degraded') return calls + 100;
  }
}

function fullDisk(): void {
  test('calls are served with "continue", and no line is missing once there is disk space', async () => {
    await using scene = await startOnSmallDisk('continue');
    const { hub, disk, folder } = scene;
    await using client = await connect(`${hub.url}/mcp/echo`);
    const call = async () => assert.equal(await client.call('echo', { text: 'a' }), 'a');
    await disk.fill();
    const calls = await callUntilFull(hub, call);
    assert.match(JSON.stringify((await auditOf(hub)).part), /degraded.*cannot be written.*ENOSPC/);
    await disk.free();
    assert.deepEqual(await auditOf(hub), { status: 'ok', part: { state: 'up', backend: 'files' } });
    await call();
    await hub.stop();
    const lines = await linesOf(folder);
    assert.equal(lines.filter(({ kind }) => kind === 'call').length, calls + 1);
    const report = await verifyAudit(folder);
    assert.deepEqual([report.problems, report.torn], [[], undefined]);
    // Other files of the hub may free space for a moment and use it again.
    const said = hub.log().match(/the audit log (?:cannot be written|is written again)/g) ?? [];
    assert.match(said[0] ?? '', /cannot be written/);
    assert.match(said.at(-1) ?? '', /is written again/);
    assert.ok(
      said.every((one, at) => one !== said[at - 1]),
      'each change is told once',
    );
  });

  test('with "refuse", each call that was answered has a line, although the disk stays full', async () => {
    await using scene = await startOnSmallDisk('refuse');
    const { hub, disk, folder } = scene;
    await using client = await connect(`${hub.url}/mcp/echo`);
    await disk.fill();
    let answered = 0;
    const callUntilRefused = async () => {
      for (; ; answered++) await client.call('echo', { text: 'a' });
    };
    await assert.rejects(callUntilRefused, { message: /the audit log cannot be written/ });
    assert.equal((await auditOf(hub)).status, 'degraded');
    await hub.stop();
    const lines = await linesOf(folder);
    const calls = lines.filter(({ kind }) => kind === 'call');
    assert.equal(calls.filter(({ outcome }) => outcome === 'ok').length, answered);
    assert.ok(answered > 0);
    assert.ok(calls.some(({ outcome }) => outcome === 'HUB_AUDIT_UNAVAILABLE'));
    assert.deepEqual((await verifyAudit(folder)).problems, []);
  });

  test('calls are refused with "refuse", but administration is not, until there is disk space', async () => {
    await using scene = await startOnSmallDisk('refuse');
    const { hub, disk, folder } = scene;
    await using client = await connect(`${hub.url}/mcp/echo`);
    await disk.fill();
    await assert.rejects(
      async () => {
        for (;;) await client.call('echo', { text: 'a' });
      },
      { message: /the audit log cannot be written/ },
    );
    assert.ok((await client.toolNames()).includes('echo'));
    const restarted = await fetch(`${hub.url}/servers/echo/restart`, {
      method: 'POST',
      headers: hub.ownerHeaders,
    });
    assert.equal(restarted.status, 200);
    await disk.free();
    assert.equal((await auditOf(hub)).status, 'ok');
    assert.equal(await client.call('echo', { text: 'again' }), 'again');
    await hub.stop();
    const lines = await linesOf(folder);
    const calls = lines.filter(({ kind }) => kind === 'call');
    const refused = calls.filter(({ outcome }) => outcome === 'HUB_AUDIT_UNAVAILABLE');
    assert.equal(refused.length, 1);
    assert.equal(calls.at(-1)?.['outcome'], 'ok');
    assert.ok(lines.some(({ action }) => action === 'server_restart'));
    assert.deepEqual((await verifyAudit(folder)).problems, []);
  });
}

const problem = await mountProblem();
describe.skipIf(problem !== undefined)(
  `a full disk under the audit log${problem ? ` (${problem})` : ''}`,
  fullDisk,
);
