import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { metaKeys } from '#mcp';
import { modernHeaders, modernMeta, modernRequest, openSession, posting, send } from './raw.ts';

const echo = [{ name: 'echo' }];
const hello = { name: 'echo', arguments: { text: 'hello' } };
const body = modernRequest(1, 'tools/call', hello);
/** The same request, with the first letter of `protocolVersion` written as an escape sequence. */
const escaped = JSON.stringify(body).replaceAll('protocolVersion', '\\u0070rotocolVersion');

describe('a request with metadata of its own that names a session as well', () => {
  const disagreeing: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['no header of its own', {}, JSON.stringify(body)],
    ['no header of its own and escaped names', {}, escaped],
    [
      'another Mcp-Name',
      { ...modernHeaders('tools/call', 'other'), 'mcp-protocol-version': '2026-07-28' },
      JSON.stringify(body),
    ],
  ];
  for (const [what, headers, text] of disagreeing)
    test(`has its headers checked: ${what}`, async () => {
      await using hub = await startHub(echo);
      const session = await openSession(`${hub.url}/mcp/echo`);
      const response = await session.post(text, headers);
      assert.equal(response.status, 400, await response.body());
      const { id, error } = await response.json();
      assert.deepEqual([id, Object(error).code], [1, -32020]);
    });

  test('has its headers checked if the version header is missing', async () => {
    await using hub = await startHub(echo);
    const { id } = await openSession(`${hub.url}/mcp/echo`);
    const headers = { ...posting, 'mcp-session-id': id };
    const response = await send(`${hub.url}/mcp/echo`, { method: 'POST', headers, body });
    assert.equal(response.status, 400);
    assert.match(await response.body(), /MCP-Protocol-Version is missing/);
  });

  test('is refused in a batch, as its headers can only describe one message', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(`${hub.url}/mcp/echo`, '2025-03-26');
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    const refused = await session.post(JSON.stringify([ping, body]));
    assert.equal(refused.status, 400);
    assert.match(await refused.body(), /MCP has no batches/);
    const taken = await session.post(JSON.stringify([ping, { ...ping, id: 3 }]));
    assert.equal(taken.status, 200, await taken.body());
  });

  test('is answered without the session, which that revision does not have', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(`${hub.url}/mcp/echo`);
    const headers = modernHeaders('tools/call', 'echo');
    for (const id of [session.id, 'no-such-session']) {
      const own = { ...headers, 'mcp-session-id': id };
      const response = await send(`${hub.url}/mcp/echo`, { method: 'POST', headers: own, body });
      assert.equal(response.status, 200, await response.body());
      assert.equal(response.headers['mcp-session-id'], undefined);
      assert.match(await response.body(), /"resultType":"complete"/);
    }
  });

  test('is recognized by its version, not by a name in its arguments', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(`${hub.url}/mcp/echo`);
    const text = `\\ ${metaKeys.protocolVersion}`;
    const response = await session.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text, _meta: modernMeta } },
    });
    assert.equal(response.status, 200);
    assert.doesNotMatch(await response.body(), /resultType/);
  });
});
