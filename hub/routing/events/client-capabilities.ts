import { type HubError, isObject } from '#core';
import { type Request, RpcError, encodeError, membersOf, rpcCodes, stringAt } from '#jsonrpc';
import type { SessionState } from '../session.ts';

/** Returns the capabilities that a client has declared; an empty object if it has declared none. */
export function capabilitiesOf({ client }: SessionState): unknown {
  const capabilities: unknown = client && JSON.parse(client.capabilities);
  return isObject(capabilities) ? capabilities : {};
}

/** Returns the error for a request that the client does not support (MCP 2025-11-25, client features). */
export function lacking(method: string, capability: string): HubError {
  return new RpcError(
    rpcCodes.methodNotFound,
    'HUB_CAPABILITY_MISSING',
    `the client has not declared the capability "${capability}", which ${method} needs`,
    { capability },
  );
}

/** The client capability required for each server request (MCP 2025-11-25, client features). */
const needed: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
  ['tasks/get', 'tasks'],
  ['tasks/result', 'tasks'],
  ['tasks/list', 'tasks'],
  ['tasks/cancel', 'tasks'],
]);

export const isClientMethod = (method: string): boolean => needed.has(method);

/** The requests that only servers answer (MCP 2025-11-25 and 2026-07-28, server features). */
const serverMethods: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
]);

/** True if only servers answer the method: a server must not use the hub or a client as a server. */
export const isServerMethod = (method: string): boolean => serverMethods.has(method);

/** Returns the required capability that the client lacks; undefined if it lacks none or the method is unknown. */
export function refusedCapability(
  capabilities: unknown,
  request: Pick<Request, 'bytes' | 'method' | 'params'>,
): string | undefined {
  const name = needed.get(request.method);
  if (name === undefined) return undefined;
  const declared = isObject(capabilities) ? capabilities[name] : undefined;
  if (!isObject(declared)) return name;
  const params = membersOf(request.bytes, request.params);
  if (name === 'sampling')
    return params?.has('tools') && !isObject(declared['tools']) ? 'sampling.tools' : undefined;
  if (name !== 'elicitation') return undefined;
  const takesPages = isObject(declared['url']);
  if (stringAt(request.bytes, params?.get('mode')) === 'url')
    return takesPages ? undefined : 'elicitation.url';
  // An object without modes means forms, the only mode before 2025-11-25.
  return takesPages && !isObject(declared['form']) ? 'elicitation.form' : undefined;
}

/**
 * Returns the error answer to a call whose server requires a capability that the client has not declared (MCP
 * 2026-07-28, errors). `capability` comes from `refusedCapability`; the id is JSON text.
 */
export function callNeeds(capability: string, id: string): Buffer {
  const requiredCapabilities = capability
    .split('.')
    .reduceRight<object>((inner, name) => ({ [name]: inner }), {});
  return encodeError(
    id,
    rpcCodes.missingCapability,
    `the server needs the capability "${capability}", which the client has not declared`,
    { code: 'HUB_CAPABILITY_MISSING', requiredCapabilities },
  );
}
