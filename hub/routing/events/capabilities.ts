import { isObject } from '#core';
import { type Request, encodeError, membersOf, rpcCodes, stringAt } from '#jsonrpc';

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

/** True for methods that servers may send to clients. */
export const isClientMethod = (method: string): boolean => needed.has(method);

/**
 * The required capability that the client has not declared; undefined if the client may be asked. The hub does not
 * judge methods that no revision defines.
 */
export function refusedCapability(
  capabilities: unknown,
  request: Pick<Request, 'bytes' | 'method' | 'params'>,
): string | undefined {
  const name = needed.get(request.method);
  if (name === undefined) return undefined;
  const declared = isObject(capabilities) ? capabilities[name] : undefined;
  if (!isObject(declared)) return name;
  if (name !== 'elicitation') return undefined;
  const mode = stringAt(request.bytes, membersOf(request.bytes, request.params)?.get('mode'));
  // An empty object means forms, the only mode before 2025-11-25.
  return mode === 'url' && !isObject(declared['url']) ? 'elicitation.url' : undefined;
}

/**
 * The error answer to a call whose server requires a capability that the client has not declared (MCP 2026-07-28,
 * errors). `capability` comes from `refusedCapability`; the id is JSON text.
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
