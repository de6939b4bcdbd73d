import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import { openClient } from '../routing/clients.ts';
import { json } from '../runtimes/remote/scene.ts';
import { serve } from '../runtimes/remote/serve.ts';

/**
 * Starts a server that forgets its session on `forget`, and then refuses the messages of that session. `given`: the
 * refusal has the id of the request, and this code.
 */
async function startForgetful(status: number, message: string, given?: { readonly code: number }) {
  let sessions = 0;
  let known = '';
  const served = await serve(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    if (request.method === 'DELETE') return response.writeHead(204).end();
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = JSON.parse(text);
    if (method === 'initialize') {
      known = `s${++sessions}`;
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'forgetful', version: '1' },
      };
      return json(response, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': known });
    }
    if (request.headers['mcp-session-id'] !== known) {
      const error = { code: -32000, message, ...given };
      return json(response, { jsonrpc: '2.0', id: given ? id : null, error }, {}, status);
    }
    if (id === undefined) return response.writeHead(202).end();
    const result =
      method === 'tools/list' ? { tools: [] } : { content: [{ type: 'text', text: known }] };
    return json(response, { jsonrpc: '2.0', id, result });
  });
  return {
    url: served.url,
    forget: () => (known = ''),
    [Symbol.asyncDispose]: () => served.stop(),
  };
}

describe('a remote server that has forgotten the session of the hub', () => {
  for (const [status, message, given] of [
    [404, 'Session not found'],
    [400, 'Bad Request: No valid session ID provided'],
    [404, 'the session is unknown', { code: -32001 }],
  ] as const)
    test(`and answers ${status} (${message}) gets a new session, and calls continue`, async () => {
      await using far = await startForgetful(status, message, given);
      await using hub = await startHub([{ name: 'far', url: far.url, era: 'legacy' }]);
      const client = openClient(hub, hub.server('far'));
      await client.initialize();
      assert.equal((await client.call('any')).text, 's1');
      far.forget();
      const { error } = await client.call('any');
      assert.equal(error.data['retryable'], true);
      await until(
        () => hub.server('far').restarts === 1 && hub.server('far').running !== undefined,
      );
      assert.equal((await client.call('any')).text, 's2');
    });

  test.for([
    [400, 'no such thing', undefined],
    [404, 'no such thing', { code: -32601 }],
  ] as const)(
    'is distinguished from one that answers %i for another reason',
    async ([status, message, given]) => {
      await using far = await startForgetful(status, message, given);
      await using hub = await startHub([{ name: 'far', url: far.url, era: 'legacy' }]);
      const client = openClient(hub, hub.server('far'));
      await client.initialize();
      far.forget();
      assert.ok((await client.call('any')).error.message);
      assert.equal(hub.server('far').restarts, 0);
      assert.ok(hub.server('far').running);
    },
  );
});
