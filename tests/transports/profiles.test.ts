import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { digestOf } from '#access';
import type { ProfileConfig } from '#config';
import { createManualClock } from '#helpers/clock';
import { connectEra, eras } from '#helpers/eras';
import { startHub } from '#helpers/hub';
import type { Observed } from '#routing';
import { openScratchClients, plainClient } from '../access/scratch.ts';
import { createTestAccess } from '../routing/test-access.ts';
import { transports } from './every-transport.ts';
import { openSession, posting, send } from './raw.ts';

const fixtures = [{ name: 'files', tags: ['disk'] }, { name: 'echo' }];
const profileOf = (lists: Partial<ProfileConfig>): ProfileConfig => ({
  name: 'work',
  tags: [],
  servers: [],
  tools: [],
  hiddenTools: [],
  ...lists,
});
const work = profileOf({ tags: ['disk'], hiddenTools: ['files_move_file'] });
const policy = [{ tools: ['files_write*'], action: 'deny' }] as const;
const shown = ['files_read_file', 'files_search'];

describe.each(Object.entries(transports))('over %s', (_name, connect) => {
  test('/mcp/@work lists and calls what the profile shows and the policy allows', async () => {
    const { access, change } = createTestAccess(fixtures, { profiles: [work], policy });
    const seen: Observed[] = [];
    await using hub = await startHub(fixtures, {
      access,
      observer: call => void seen.push(call),
    });
    await using client = await connect(hub, '/@work');
    assert.deepEqual(await client.list(), shown);
    await client.call('files_search');
    await client.read('file:///secret/b');
    await assert.rejects(client.call('files_write_file'), /policy denies/);
    for (const name of ['files_move_file', 'echo_echo'])
      await assert.rejects(client.call(name), /the profile "work" does not show it/);
    const rules = seen
      .filter(({ outcome }) => outcome === 'HUB_POLICY_DENIED')
      .map(({ decision }) => decision?.rule);
    assert.deepEqual(rules, ['policy[0]', 'profiles.work', 'profiles.work']);
    change({ profiles: [profileOf({ servers: ['echo'] })], policy });
    const other = await client.list();
    assert.ok(other.length > 0 && other.every(name => name.startsWith('echo_')));
    // Requests of streamable HTTP name the profile, which no longer exists. An open connection lists nothing.
    change({ policy });
    assert.deepEqual(await client.list().catch(() => []), []);
  });
});

test.each(eras)('a client of %s hears that a reload changed what its profile shows', async era => {
  const { access, change } = createTestAccess(fixtures, { profiles: [work], policy });
  const clock = createManualClock();
  await using hub = await startHub(fixtures, { access, clock });
  // Sends the pending announcements of the lists that servers read at their start.
  clock.advance(1_000);
  await using viewer = await connectEra(era, `${hub.url}/mcp/@work`);
  await using other = await connectEra(era, `${hub.url}/mcp`);
  const listening = [await viewer.subscribe(), await other.subscribe()];
  const all = await other.toolNames();
  change({ profiles: [{ ...work, hiddenTools: [] }], policy });
  await viewer.hears('notifications/tools/list_changed');
  assert.deepEqual(await viewer.toolNames(), [
    'files_read_file',
    'files_move_file',
    'files_search',
  ]);
  // The client reads all earlier notifications before this answer.
  assert.deepEqual(await other.toolNames(), all);
  assert.deepEqual(other.heard, []);
  for (const one of listening) await one.stop();
});

test('an unknown profile is refused with 404 and the names of the others', async () => {
  const { access } = createTestAccess(fixtures, { profiles: [work] });
  await using hub = await startHub(fixtures, { access });
  for (const url of ['/mcp/@wrok', '/mcp/%40wrok', '/mcp/@wrok/tools/list']) {
    const refused = await send(`${hub.url}${url}`, {
      method: 'POST',
      headers: posting,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    });
    assert.equal(refused.status, 404, url);
    assert.match(
      await refused.body(),
      /HUB_PROFILE_UNKNOWN.*"wrok|"wrok.*HUB_PROFILE_UNKNOWN/,
      url,
    );
  }
  assert.equal((await send(`${hub.url}/sse/@wrok`)).status, 404);
  const shownOnce = await send(`${hub.url}/mcp/%40work/tools/list`, { method: 'POST' });
  const body = await shownOnce.body();
  assert.ok(body.includes('files_read_file') && !body.includes('echo_echo'), body);
});

test('the session of a profile cannot be used at another address', async () => {
  const { access } = createTestAccess(fixtures, { profiles: [work] });
  await using hub = await startHub(fixtures, { access });
  const { id } = await openSession(`${hub.url}/mcp/@work`);
  const headers = {
    ...posting,
    'mcp-session-id': id,
    'mcp-protocol-version': '2025-11-25',
  };
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
  const statusAt = async (path: string) =>
    (await send(`${hub.url}${path}`, { method: 'POST', headers, body: list })).status;
  assert.equal(await statusAt('/mcp'), 404);
  assert.equal(await statusAt('/mcp/@work'), 200);
});

test('the profile of a client applies if its address names none', async () => {
  const tokenDigest = digestOf('cursor-token').toString('hex');
  const cursor = plainClient('cursor', { tokenDigest, profile: 'work' });
  await using scratch = await openScratchClients({ clients: [cursor] });
  const home = { ...work, name: 'home', tags: [], servers: ['echo'] };
  const { access, change } = createTestAccess(fixtures, {
    profiles: [work, home],
    clients: [cursor],
  });
  await using hub = await startHub(fixtures, { access, guard: { clients: await scratch.open() } });
  const listAt = async (path: string, token?: string) => {
    const more = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const session = await openSession(`${hub.url}${path}`, undefined, {}, more);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
    return await (await session.post(list, more)).body();
  };
  const own = await listAt('/mcp', 'cursor-token');
  assert.ok(own.includes('files_write_file') && !own.includes('echo_echo'), own);
  const named = await listAt('/mcp/@home', 'cursor-token');
  assert.ok(named.includes('echo_echo') && !named.includes('files_write_file'), named);
  assert.ok(!(await listAt('/mcp/files', 'cursor-token')).includes('move_file'));
  assert.ok((await listAt('/mcp')).includes('echo_echo'));
  change({ profiles: [work, home], clients: [{ ...cursor, profile: 'home' }] });
  assert.ok((await listAt('/mcp', 'cursor-token')).includes('echo_echo'));
});
