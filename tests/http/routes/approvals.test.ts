import assert from 'node:assert/strict';
import { test } from 'vitest';
import { digestOf } from '#access';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type HubOptions, startHub } from '#helpers/hub';
import { openScratchClients, plainClient } from '../../access/scratch.ts';
import { openTestApprovals } from '../../approvals/test-approvals.ts';
import { createTestAccess } from '../../routing/test-access.ts';

const fixtures = [{ name: 'echo' }];

async function open(guard: HubOptions['guard'] = {}) {
  const clock = createManualClock({ passingMs: 1_000 });
  const { approvals, recorded } = await openTestApprovals({ clock });
  const { access } = createTestAccess(fixtures, {
    policy: [{ tools: ['echo_echo'], action: 'confirm', reason: 'it writes' }],
  });
  const hub = await startHub(fixtures, { access, approvals, clock, guard });
  const send = async (method: string, path: string, body?: unknown, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${hub.url}${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: text }),
    });
    const found = await answer.text();
    const read: unknown = found === '' ? undefined : JSON.parse(found);
    return { status: answer.status, body: isObject(read) ? read : {} };
  };
  return {
    recorded,
    /** Sends a request as the owner. */
    ask: (method: string, path: string, body?: unknown) =>
      send(method, path, body, hub.ownerHeaders),
    send,
    call: (body: unknown) => send('POST', '/mcp/echo/tools/call', body),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

/** Returns the error of a REST response, or the data of an MCP error. */
function errorOf({ error }: { readonly [name: string]: unknown }) {
  if (!isObject(error)) return {};
  return isObject(error['data']) ? error['data'] : error;
}
const same = { name: 'echo', arguments: { text: 'a' } };

test('a call over REST waits, is listed, approved, and runs once', async () => {
  await using opened = await open();
  const refused = await opened.call(same);
  assert.equal(refused.status, 403);
  const { code, approval: id } = errorOf(refused.body);
  assert.equal(code, 'HUB_APPROVAL_NEEDED');
  const [waiting] = Object.values((await opened.ask('GET', '/approvals')).body).flat();
  assert.deepEqual(waiting, {
    id,
    state: 'pending',
    client: 'local',
    server: 'echo',
    tool: 'echo_echo',
    arguments: '{"text":"a"}',
    arguments_sha256: '6193c97585a0f731ce7b500bb69d2476816afb14c8d95ac8e6e865f680e9e438',
    rule: 'policy[0]',
    reason: 'it writes',
    created_at: '2025-06-15T15:06:40.000Z',
    expires_at: '2025-06-15T15:16:40.000Z',
    decided_by: null,
  });
  assert.equal((await opened.ask('POST', `/approvals/${String(id)}/approve`)).status, 204);
  assert.equal((await opened.call(same)).status, 200);
  assert.equal((await opened.call(same)).status, 403);
  assert.deepEqual(
    opened.recorded.map(({ action, principal, target }) => [action, principal, target]),
    [
      ['approval_approved', 'owner', id],
      ['approval_used', undefined, id],
    ],
  );
});

test('a denied call is refused, and a standing approval is listed and removed', async () => {
  await using opened = await open();
  const first = errorOf((await opened.call(same)).body)['approval'];
  assert.equal((await opened.ask('POST', `/approvals/${String(first)}/deny`)).status, 204);
  assert.equal(errorOf((await opened.call(same)).body)['code'], 'HUB_APPROVAL_DENIED');
  const other = { name: 'echo', arguments: { text: 'b' } };
  const second = errorOf((await opened.call(other)).body)['approval'];
  const always = await opened.ask('POST', `/approvals/${String(second)}/approve`, { always: true });
  assert.equal(always.status, 204);
  assert.equal((await opened.call(same)).status, 200);
  const { standing } = (await opened.ask('GET', '/approvals')).body;
  const [one]: readonly unknown[] = Array.isArray(standing) ? standing : [];
  assert.ok(isObject(one));
  assert.deepEqual(
    [one['tool'], one['client'], one['approved_by']],
    ['echo_echo', 'local', 'owner'],
  );
  assert.equal(
    (await opened.ask('DELETE', `/approvals/standing/${String(one['id'])}`)).status,
    204,
  );
  assert.equal(errorOf((await opened.call(other)).body)['code'], 'HUB_APPROVAL_NEEDED');
});

test('arguments with a duplicate member are refused', async () => {
  await using opened = await open();
  const { status, body } = await opened.call('{"name":"echo","arguments":{"text":"a","text":"b"}}');
  assert.deepEqual([status, errorOf(body)['code']], [400, 'HUB_REQUEST_INVALID']);
});

test.each([
  ['GET', '/approvals'],
  ['POST', '/approvals/x/approve'],
  ['POST', '/approvals/x/deny'],
  ['DELETE', '/approvals/standing/x'],
])('%s %s is refused without the key of the owner', async (method, path) => {
  await using opened = await open();
  assert.equal((await opened.send(method, path)).status, 401);
});

test.each([
  ['/approvals/x/approve', undefined, 404, 'HUB_APPROVAL_UNKNOWN'],
  ['/approvals/x/approve', { always: 1 }, 400, 'HUB_REQUEST_INVALID'],
  ['/approvals/x/approve', { alwys: true }, 400, 'HUB_REQUEST_INVALID'],
  ['/approvals/x/deny', { always: true }, 400, 'HUB_REQUEST_INVALID'],
])('%s with %j gets %i %s', async (path, body, status, code) => {
  await using opened = await open();
  const answer = await opened.ask('POST', path, body);
  assert.deepEqual([answer.status, errorOf(answer.body)['code']], [status, code]);
});

test('only the owner lists and decides, and an approval id is valid once, for its call only', async () => {
  await using opened = await open();
  const { approval } = errorOf((await opened.call(same)).body);
  const id = String(approval);
  for (const [method, path] of [
    ['GET', '/approvals'],
    ['POST', `/approvals/${id}/approve`],
    ['POST', `/approvals/${id}/deny`],
    ['DELETE', `/approvals/standing/${id}`],
  ] as const) {
    assert.equal((await opened.send(method, path)).status, 401, path);
    const guessed = { authorization: `Bearer ${id}` };
    assert.equal((await opened.send(method, path, undefined, guessed)).status, 401, path);
  }
  assert.equal((await opened.call(same)).status, 403);
  const approve = async (one: string) =>
    (await opened.ask('POST', `/approvals/${encodeURIComponent(one)}/approve`)).status;
  for (const guess of [
    '0',
    id.slice(0, -1),
    `${id}0`,
    id.toUpperCase(),
    '../standing',
    '__proto__',
  ])
    assert.equal(await approve(guess), 404, guess);
  assert.equal(await approve(id), 204);
  assert.equal((await opened.call(same)).status, 200);
  assert.equal(await approve(id), 404);
  assert.equal((await opened.call(same)).status, 403);
});

test('a named client decides only if it administers the hub', async () => {
  const tokenOf = (name: string) => `the-token-of-${name}`;
  const clientOf = (name: string, administer: boolean) =>
    plainClient(name, { administer, tokenDigest: digestOf(tokenOf(name)).toString('hex') });
  await using scratch = await openScratchClients({
    clients: [clientOf('cursor', false), clientOf('admin', true)],
  });
  await using opened = await open({ clients: await scratch.open() });
  const id = String(errorOf((await opened.call(same)).body)['approval']);
  const decide = async (name: string, decision: 'approve' | 'deny') =>
    await opened.send('POST', `/approvals/${id}/${decision}`, undefined, {
      authorization: `Bearer ${tokenOf(name)}`,
    });
  for (const decision of ['approve', 'deny'] as const) {
    const refused = await decide('cursor', decision);
    assert.deepEqual([refused.status, errorOf(refused.body)['code']], [401, 'HUB_OWNER_ONLY']);
  }
  assert.deepEqual(opened.recorded, []);
  assert.equal((await decide('admin', 'approve')).status, 204);
  assert.deepEqual(
    opened.recorded.map(({ action, principal }) => [action, principal]),
    [['approval_approved', 'admin']],
  );
});
