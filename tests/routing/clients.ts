import assert from 'node:assert/strict';
import { isObject } from '#core';
import type { TestHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { readMessage, whole } from '#jsonrpc';
import type { Endpoint } from '#routing';

type Params = { readonly [name: string]: unknown };

/** Parsed answer to a request. */
type Answer = {
  readonly id: unknown;
  readonly result: { readonly [name: string]: unknown };
  readonly error: { readonly code: unknown; readonly message: string; readonly data: Params };
  readonly text: string;
};

const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};
const greeting = JSON.stringify({
  jsonrpc: '2.0',
  id: 'greeting',
  method: 'initialize',
  params: introduction,
});

/** Opens a client directly at the router, without a transport. */
export function openClient(hub: TestHub, endpoint: Endpoint = 'all') {
  /** Messages that the client received outside its requests. */
  const told: Params[] = [];
  const session = hub.router.open(endpoint, caller, bytes => void told.push(parse(bytes)));
  let lastId = 0;
  let isGreeted = false;

  /** Sends a message unchanged. Returns the answer, and the notifications related to the message. */
  async function send(text: string): Promise<{ answer: Buffer | undefined; related: Params[] }> {
    const related: Params[] = [];
    const message = readMessage(Buffer.from(text));
    if (message.kind === 'malformed') return assert.fail(`${text}: ${message.detail}`);
    const responseStream = { send: (bytes: Buffer) => void related.push(parse(bytes)) };
    const reply = await session.accept(message, responseStream, caller);
    return { answer: reply && whole(reply), related };
  }

  async function ask(
    method: string,
    params?: object,
    id: string | number = ++lastId,
  ): Promise<Answer & { readonly related: readonly Params[] }> {
    const isModern =
      params && '_meta' in params && JSON.stringify(params._meta).includes('/protocolVersion');
    if (!isGreeted && !isModern) {
      isGreeted = true;
      // Initializes the session for tests that do not do it themselves.
      if (method !== 'initialize') void send(greeting);
    }
    const { answer, related } = await send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    assert.ok(answer, 'a request is answered');
    const { result, error, ...rest } = parse(answer);
    assert.equal(rest['id'], id);
    return {
      id,
      related,
      result: isObject(result) ? result : {},
      error: {
        code: isObject(error) ? error['code'] : undefined,
        message: isObject(error) ? String(error['message']) : '',
        data: isObject(error) && isObject(error['data']) ? error['data'] : {},
      },
      text: isObject(result) ? textOf(result) : '',
    };
  }

  return {
    told,
    session,
    send,
    ask,
    call: (name: string, given: object = {}, meta?: object) =>
      ask('tools/call', { name, arguments: given, ...(meta && { _meta: meta }) }),
    async initialize(protocolVersion = '2025-11-25') {
      const answer = await ask('initialize', { ...introduction, protocolVersion });
      await send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
      return answer;
    },
    async notify(method: string, params: object) {
      const { answer } = await send(JSON.stringify({ jsonrpc: '2.0', method, params }));
      assert.equal(answer, undefined, 'a notification is not answered');
    },
    /** Returns the messages with this method that the client received outside its requests. */
    toldOf: (method: string) => told.filter(message => message['method'] === method),
  };
}

function parse(bytes: Buffer): Params {
  const value: unknown = JSON.parse(bytes.toString());
  return isObject(value) ? value : assert.fail(`no object: ${bytes.toString()}`);
}

function textOf({ content }: Params): string {
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) ? String(first['text']) : '';
}

/** Returns the names in a list of a result. */
export function namesIn(list: unknown, key = 'name'): readonly string[] {
  return Array.isArray(list)
    ? list.map((item: unknown) => (isObject(item) ? String(item[key]) : ''))
    : assert.fail('no list');
}
