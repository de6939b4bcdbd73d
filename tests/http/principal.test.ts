import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type HubOptions, startHub } from '#helpers/hub';
import type { Principal } from '#policy';
import { call, modernHeaders, modernRequest, posting, send } from '../transports/raw.ts';

const echo = [{ name: 'echo' }];
const key = { authorization: 'Bearer key' };
const http: HubOptions['http'] = { ownerKey: 'key' };

test('requests without a session are of the principal that sends them', async () => {
  const principals: Principal[] = [];
  await using hub = await startHub(echo, {
    http,
    observer: ({ principal }) => void principals.push(principal),
  });
  const served = async (path: string, headers: Readonly<Record<string, string>>, body: object) => {
    const answer = await send(`${hub.url}${path}`, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, await answer.body());
    const [principal, ...others] = principals.splice(0);
    assert.deepEqual(others, []);
    return principal?.name;
  };
  const { params } = call(1, 'echo', { text: 'a' });
  const modern = modernRequest(1, 'tools/list');
  const asModern = modernHeaders('tools/list');
  assert.equal(await served('/mcp/echo/tools/call', posting, params), 'local');
  assert.equal(await served('/mcp/echo/tools/call', { ...posting, ...key }, params), 'owner');
  assert.equal(await served('/mcp', asModern, modern), 'local');
  assert.equal(await served('/mcp', { ...asModern, ...key }, modern), 'owner');
});
