import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';

/** What a server elsewhere answers to a ping: a status, and a body where that is JSON-RPC. */
type Ping = { readonly status: number; readonly says?: object };

/** A server that keeps a session, of which `ping.now` may change what it answers to be asked. */
async function remoteServer() {
  const ping: { now: Ping } = { now: { status: 200, says: { result: {} } } };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => (body += String(chunk)));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method } = JSON.parse(body);
      const json = (status: number, says: object) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...says }));
      if (method === 'ping') {
        const { status, says } = ping.now;
        return says ? json(status, says) : response.writeHead(status).end();
      }
      if (method === 'server/discover')
        return json(200, { error: { code: -32601, message: 'no such method' } });
      if (method !== 'initialize') return response.writeHead(202).end();
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} };
      return json(200, { result });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : assert.fail('no port');
  return {
    ping,
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('the health of a server elsewhere', () => {
  test('is told by MCP: a refusal is an answer, and a mere status is none', async () => {
    await using far = await remoteServer();
    await using hub = await startHub([{ name: 'far', url: far.url }]);
    const rows: readonly (readonly [Ping, number])[] = [
      [{ status: 200, says: { result: {} } }, 200],
      [{ status: 200, says: { error: { code: -32601, message: 'no ping' } } }, 200],
      [{ status: 404, says: { error: { code: -32601, message: 'no ping' } } }, 200],
      [{ status: 400 }, 503],
      [{ status: 401 }, 503],
      [{ status: 500 }, 503],
      [{ status: 200, says: { result: {} } }, 200],
    ];
    for (const [answer, status] of rows) {
      far.ping.now = answer;
      const response = await fetch(`${hub.url}/health/far`);
      assert.equal(response.status, status, JSON.stringify(answer));
      const health: { readonly last_error: string | null } = JSON.parse(await response.text());
      if (status === 503) assert.match(String(health.last_error), new RegExp(`${answer.status}`));
    }
  });
});
