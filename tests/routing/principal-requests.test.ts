import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parseExactly } from '#core';
import { caller } from '#helpers/principal';
import { encodeResult } from '#jsonrpc';
import { createPrincipalRequests } from '../../hub/routing/principal-requests.ts';

test('numbers that JavaScript cannot represent are unchanged in the request and in the result', async () => {
  const text = '{"id":12345678901234567890}';
  const sent: string[] = [];
  const requests = createPrincipalRequests(caller, {
    openSessionless: () => ({
      principal: caller,
      protocolVersion: undefined,
      async accept(message) {
        sent.push(message.bytes.toString());
        return encodeResult('1', text);
      },
      save: () => undefined,
      close() {},
    }),
  });
  const params = { name: 'a', arguments: parseExactly(text) };
  const result = await requests.request('tools/call', params, AbortSignal.timeout(5_000));
  assert.match(sent.join(''), /"arguments":\{"id":12345678901234567890\}/);
  assert.equal(JSON.stringify(result), text);
});
