import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { isObject, systemClock } from '#core';
import type { ProfileConfig } from '#config';
import { createManualClock } from '#helpers/clock';
import { connectEra, eras } from '#helpers/eras';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Observed } from '#routing';
import { createToolSearch } from '#toolsearch';
import { openTestApprovals } from '../approvals/test-approvals.ts';
import { createTestAccess } from '../routing/test-access.ts';
import { transports } from './every-transport.ts';

const fixtures = [{ name: 'files' }, { name: 'echo' }];
const profileOf = (settings: Partial<ProfileConfig> = {}): ProfileConfig => ({
  name: 'work',
  tags: [],
  servers: ['files', 'echo'],
  tools: [],
  hiddenTools: ['echo_env'],
  find: { pinned: ['files_read_*', 'files_write_file'] },
  ...settings,
});
const policy = [
  { tools: ['files_write*'], action: 'deny' },
  { tools: ['files_move_file'], action: 'confirm' },
] as const;
const search = createToolSearch({ clock: systemClock });
const listed = ['find_tools', 'call_tool', 'files_read_file'];

/** Returns the text of a tool's result. */
function textOf(result: unknown): string {
  const [first]: unknown[] =
    isObject(result) && Array.isArray(result['content']) ? result['content'] : [];
  assert.ok(isObject(first) && typeof first['text'] === 'string', JSON.stringify(result));
  return first['text'];
}

/** Returns the tool names in a result of `find_tools`. Fails unless each has a schema. */
function namesIn(result: unknown): readonly unknown[] {
  const found: unknown = JSON.parse(textOf(result));
  assert.ok(isObject(found) && Array.isArray(found['tools']));
  return found['tools'].map((tool: unknown) => {
    assert.ok(isObject(tool) && isObject(tool['inputSchema']), JSON.stringify(tool));
    return tool['name'];
  });
}

describe.each(Object.entries(transports))('find mode over %s', (_name, connect) => {
  let hub: TestHub;
  let seen: Observed[];
  beforeAll(async () => {
    const { approvals } = await openTestApprovals();
    const { access } = createTestAccess(fixtures, { profiles: [profileOf()], policy });
    hub = await startHub(fixtures, {
      access,
      search,
      approvals,
      observer: call => void seen.push(call),
    });
  });
  beforeEach(() => void (seen = []));
  afterAll(() => hub?.[Symbol.asyncDispose]());

  test('lists two tools and the pinned ones; a found tool can be called, under the policy', async () => {
    await using client = await connect(hub, '/@work');
    assert.deepEqual(await client.list(), listed);
    const found = await client.call('find_tools', { query: 'return a text', limit: 2 });
    assert.equal(namesIn(found)[0], 'echo_echo');
    const wanted = { name: 'echo_echo', arguments: { text: 'hello' } };
    assert.equal(textOf(await client.call('call_tool', wanted)), 'hello');
    const written = { ...wanted, arguments: '{"text": "as text"}' };
    assert.equal(textOf(await client.call('call_tool', written)), 'as text');
    const deep = { ...wanted, arguments: `{"text": ${'['.repeat(600)}${']'.repeat(600)}}` };
    assert.match(textOf(await client.call('call_tool', deep)), /nested too deeply/);
    assert.deepEqual(
      seen.filter(({ server }) => server === 'echo').map(({ name, outcome }) => [name, outcome]),
      [
        ['echo_echo', 'ok'],
        ['echo_echo', 'ok'],
      ],
    );

    // `find_tools` finds no tool that the policy denies or the profile hides, and `call_tool` calls none.
    const all = namesIn(await client.call('find_tools', { query: 'file environment', limit: 20 }));
    assert.ok(all.includes('files_move_file'), String(all));
    assert.ok(!all.includes('files_write_file') && !all.includes('echo_env'), String(all));
    await assert.rejects(client.call('call_tool', { name: 'files_write_file' }), /policy denies/);
    await assert.rejects(client.call('call_tool', { name: 'echo_env' }), /does not show it/);
    await assert.rejects(
      client.call('call_tool', { name: 'files_move_file' }),
      /a person has to approve this call of files_move_file/,
    );
    const refused = seen.filter(({ outcome }) => outcome.startsWith('HUB_'));
    assert.deepEqual(
      refused.map(({ name, decision }) => [name, decision?.rule]),
      [
        ['files_write_file', 'policy[0]'],
        ['echo_env', 'profiles.work'],
        ['files_move_file', 'policy[1]'],
      ],
    );

    const wrong = await client.call('call_tool', { name: 'files_search_file', arguments: {} });
    assert.match(textOf(wrong), /No tool is called "files_search_file".*files_search.*find_tools/);
    for (const args of [{}, { query: ' ' }, { query: 'x', limit: 0 }])
      assert.match(textOf(await client.call('find_tools', args)), /"query" must|"limit" must/);
    assert.match(textOf(await client.call('call_tool', {})), /"name" must be the name of a tool/);
    assert.match(textOf(await client.call('find_tools', { query: 'qqq' })), /No tool fits "qqq"/);
  });
});

test.each(eras)('a client of %s is notified of pinned tools only', async era => {
  const { access, change } = createTestAccess(fixtures, { profiles: [profileOf()] });
  const clock = createManualClock();
  await using hub = await startHub(fixtures, { access, clock, search });
  clock.advance(1_000);
  await using viewer = await connectEra(era, `${hub.url}/mcp/@work`);
  await using other = await connectEra(era, `${hub.url}/mcp`);
  const listening = [await viewer.subscribe(), await other.subscribe()];

  const before = await viewer.toolNames();
  await other.call('echo_relist');
  await until(() => hub.server('echo').listing.tool.some(({ key }) => key === 'extra-1'));
  clock.advance(1_000);
  await other.hears('notifications/tools/list_changed');
  // The client reads all earlier notifications before this answer.
  assert.deepEqual(await viewer.toolNames(), before);
  assert.deepEqual(viewer.heard, []);
  assert.match(await viewer.call('find_tools', { query: 'extra' }), /echo_extra-1/);

  for (const find of [{ pinned: ['files_search'] }, undefined]) {
    const heard: number = viewer.heard.length;
    const { find: _, ...plain } = profileOf();
    change({ profiles: [find ? profileOf({ find }) : plain] });
    await viewer.toolNames();
    assert.equal(viewer.heard.length, heard + 1);
  }
  assert.ok((await viewer.toolNames()).includes('echo_extra-1'));
  for (const one of listening) await one.stop();
});
