import assert from 'node:assert/strict';
import { test } from 'vitest';
import { caller } from '#helpers/principal';
import { createFixtureServers } from '#helpers/hub';
import { silent } from '#core';
import { createMcpPaths } from '../../hub/http/mcp-paths.ts';

const known = new Set(['work']);
const profiles = {
  has: (name: string) => known.has(name),
  require(name: string) {
    if (!known.has(name)) throw new RangeError(name);
  },
};

test('paths lead to all servers, one server or a profile, and to nothing else', async () => {
  await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
  const paths = createMcpPaths({ servers, profiles });
  const echo = servers.get('echo');
  for (const [path, endpoint, profile] of [
    ['/mcp', 'all', undefined],
    ['/mcp/echo', echo, undefined],
    ['/mcp/@work', 'all', 'work'],
    ['/mcp/@wrok', undefined, undefined],
    ['/mcp/@', undefined, undefined],
    ['/mcp/wrok', undefined, undefined],
    ['/mcp@work', undefined, undefined],
    ['/', undefined, undefined],
  ] as const) {
    const found = paths.endpointOf(path);
    assert.equal(found, endpoint, path);
    if (found) assert.equal(paths.viewer(caller, path).profile, profile, path);
  }
  assert.deepEqual(paths.get(undefined, caller), { endpoint: 'all', viewer: caller });
  assert.equal(paths.get('echo', caller).endpoint, echo);
  assert.equal(paths.get('@work', caller).viewer.profile, 'work');
  assert.throws(() => paths.get('@wrok', caller), RangeError);
  assert.throws(() => paths.get('wrok', caller), { code: 'HUB_SERVER_UNKNOWN' });
});
