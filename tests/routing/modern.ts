import assert from 'node:assert/strict';
import { isObject } from '#core';
import type { TestHub } from '#helpers/hub';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';
import { openAsked } from './asking.ts';

type Json = { readonly [name: string]: unknown };

/** Opens a client of 2026-07-28 directly at the router. */
export function openModern(
  hub: TestHub,
  endpoint: Endpoint,
  capabilities: object = { sampling: {}, roots: {}, elicitation: {} },
  clientInfo?: object,
  principal?: Principal,
) {
  const client = openAsked(hub, endpoint, undefined, principal);
  const meta = (more: object = {}) => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(clientInfo && { 'io.modelcontextprotocol/clientInfo': clientInfo }),
    ...more,
  });
  const ask = (method: string, params: object = {}, more: object = {}) =>
    client.ask(method, { ...params, _meta: meta(more) });
  return {
    ...client,
    ask,
    request: (method: string, params: object = {}, more: object = {}) =>
      client.request(method, { ...params, _meta: meta(more) }),
    async call(name: string, given: object = {}, more: object = {}) {
      const { result, error } = await ask('tools/call', { name, arguments: given, ...more });
      return { result: isObject(result) ? result : {}, error: isObject(error) ? error : undefined };
    },
  };
}

/** Returns the text of a tool's result. */
export function textOf({ content }: Json): string {
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) ? String(first['text']) : assert.fail('no text');
}

/** Returns the value at a path of member names in an answer. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}
