import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject } from '#core';
import { call, posting } from '../transports/raw.ts';

/** An MCP session for calls of the tool `echo`. */
export type EchoSession = AsyncDisposable & {
  /** Calls the tool `echo`. Resolves with the text of the result. Rejects if the call fails. */
  echo(text: string): Promise<string>;
};

const version = '2025-11-25';
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'agenthub-echo', version: '1.0.0' },
  },
};

/**
 * Opens a session whose requests are sent one after the other on one connection. Tests of faults make thousands of
 * calls, for which a client of the SDK would take several times the CPU time.
 */
export async function openEchoSession(url: string): Promise<EchoSession> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  async function post(message: object, own: IncomingHttpHeaders = {}) {
    const outgoing = request(url, { method: 'POST', agent, headers: { ...posting, ...own } });
    outgoing.end(JSON.stringify(message));
    const [incoming] = await once(outgoing, 'response');
    const body = await text(incoming);
    assert.ok([200, 202].includes(incoming.statusCode), `${incoming.statusCode} ${body}`);
    return { body, session: String(incoming.headers['mcp-session-id']) };
  }
  const { session } = await post(initialize);
  const own = { 'mcp-session-id': session, 'mcp-protocol-version': version };
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, own);
  let calls = 0;
  return {
    async echo(said) {
      const { body } = await post(call(++calls, 'echo', { text: said }), own);
      return textOf(body);
    },
    async [Symbol.asyncDispose]() {
      const ending = request(url, { method: 'DELETE', agent, headers: own });
      ending.end();
      const [answer] = await once(ending, 'response');
      await text(answer);
      agent.destroy();
    },
  };
}

/** Returns the text of a tool's result, from a JSON body or an SSE event. */
function textOf(body: string): string {
  const message: unknown = JSON.parse(/^data: (\{.*)$/m.exec(body)?.[1] ?? body);
  const result = isObject(message) ? message['result'] : undefined;
  const content: unknown = isObject(result) && result['isError'] !== true && result['content'];
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  assert.ok(isObject(first) && typeof first['text'] === 'string', body);
  return first['text'];
}
