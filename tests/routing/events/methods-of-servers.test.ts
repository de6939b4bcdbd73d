import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { startHub } from '#helpers/hub';
import { openAsked } from '../asking.ts';

const methods = ['tools/list', 'tools/call', 'resources/read', 'initialize', 'server/discover'];

const codeIn = (answer: unknown): unknown => {
  const error = isObject(answer) ? answer['error'] : undefined;
  return isObject(error) ? error['code'] : JSON.stringify(answer);
};

describe('a server that sends a request for a method of servers', () => {
  test.each(['shared', 'session'] as const)(
    'gets -32601, and no client of its %s instance receives the request',
    async instance => {
      await using hub = await startHub([{ name: 'asker', instance }]);
      for (const endpoint of ['all', hub.server('asker')] as const) {
        const client = openAsked(hub, endpoint, () => ({ tools: [] }));
        await client.initialize({});
        const name = endpoint === 'all' ? 'asker_ask' : 'ask';
        for (const method of methods) {
          const answer = await client.call(name, { method, params: { name, arguments: {} } });
          assert.equal(codeIn(answer), -32601, method);
        }
        assert.deepEqual(client.asked, []);
      }
    },
  );
});
