import assert from 'node:assert/strict';
import { isObject } from '#core';
import type { TestHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';

type Params = { readonly [name: string]: unknown };
type Asked = { readonly id: unknown; readonly method: string; readonly params: Params };
/** Result of a client, or an error if it has the member `error`; undefined if the client does not answer. */
export type Reply = object | undefined;

/** Opens a client that answers requests of servers by `reply`. */
export function openAsked(
  hub: TestHub,
  endpoint: Endpoint,
  reply: (asked: Asked) => Reply | Promise<Reply> = () => undefined,
  principal: Principal = caller,
) {
  const asked: Asked[] = [];
  const told: Params[] = [];
  let lastId = 0;

  const receive = (bytes: Buffer): void => {
    const message: unknown = JSON.parse(bytes.toString());
    if (!isObject(message)) return assert.fail(bytes.toString());
    const { id, method, params } = message;
    if (id === undefined) told.push(message);
    else {
      const request = { id, method: String(method), params: isObject(params) ? params : {} };
      asked.push(request);
      void respond(request);
    }
  };
  const session = hub.router.open(endpoint, principal, receive);

  async function respond(request: Asked): Promise<void> {
    const outcome = await reply(request);
    if (!outcome) return;
    const body = 'error' in outcome ? outcome : { result: outcome };
    await post({ jsonrpc: '2.0', id: request.id, ...body });
  }

  async function post(message: object): Promise<Params | undefined> {
    const read = readMessage(Buffer.from(JSON.stringify(message)));
    if (read.kind === 'malformed') return assert.fail(read.detail);
    const answer = await session.accept(read, { send: receive }, principal);
    const value: unknown = answer && JSON.parse(whole(answer).toString());
    return isObject(value) ? value : undefined;
  }

  /** Sends a request. Resolves with undefined if the client cancels a request of MCP 2026-07-28. */
  const request = (method: string, params?: object) =>
    post({ jsonrpc: '2.0', id: ++lastId, method, params });

  async function ask(method: string, params?: object): Promise<Params> {
    const answer = await request(method, params);
    assert.ok(answer, 'a request is answered');
    return answer;
  }

  return {
    asked,
    told,
    session,
    ask,
    request,
    post,
    lastId: () => lastId,
    notify: (method: string, params: object) => post({ jsonrpc: '2.0', method, params }),
    initialize: (capabilities: object, protocolVersion = '2025-11-25') =>
      ask('initialize', { protocolVersion, capabilities, clientInfo: { name: 't', version: '1' } }),
    /** Calls a tool, and returns the text of its result, or the error. */
    async call(name: string, given: object = {}, more: object = {}): Promise<unknown> {
      const { result, error } = await ask('tools/call', { name, arguments: given, ...more });
      if (error) return { error };
      const content = isObject(result) ? result['content'] : undefined;
      const first: unknown = Array.isArray(content) ? content[0] : undefined;
      const text = isObject(first) ? String(first['text']) : '';
      return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
    },
  };
}
