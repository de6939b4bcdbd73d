import { createHash } from 'node:crypto';
import { isObject } from '#core';
import { type Request, rawText, valueOf } from '#jsonrpc';
import { isStateless, latestVersion, metaKeys, modernVersion } from '#mcp';
import { policyNameOf, principalKey } from '#policy';
import { redactText } from '#telemetry';
import type { Call } from './call.ts';
import type { OpenSession, SessionState } from './session.ts';

/** Maximum length of an identity in characters. A longer identity is replaced by its digest. */
const maxLength = 256;

/**
 * Identifies the client of a stateless request by the principal, and the name and version in `clientInfo`. Two
 * programs with the same name and version count as one client. Undefined if the request names no client.
 */
export function clientIdentityOf(call: Call): string | undefined {
  const { request, meta, principal } = call;
  const info = valueOf(request.bytes, meta?.get(metaKeys.clientInfo));
  const { name, version } = isObject(info) ? info : {};
  if (typeof name !== 'string' || name === '') return undefined;
  const identity = JSON.stringify([principalKey(principal), name, version]);
  return identity.length > maxLength
    ? createHash('sha256').update(identity).digest('hex')
    : identity;
}

/** Returns the key for the instances of a client without a session. */
export const instanceKeyOf = (call: Call): string =>
  clientIdentityOf(call) ?? principalKey(call.principal);

/** True for a session that carries a single request of a client without a session. */
export const isOfOneRequest = ({ isSessionless, over, client }: SessionState): boolean =>
  isSessionless || (over === 'http' && client === undefined);

/**
 * Returns the key of a caller for the queue of a server, where callers take turns. A named client is one caller with
 * all its sessions. All requests without a session of any other principal are one caller too.
 */
export const turnKeyOf = ({ principal, session }: Pick<Call, 'principal' | 'session'>): string =>
  principal.kind === 'client' || isOfOneRequest(session) ? principalKey(principal) : session.key;

/** Returns the name of a call's client, from its connection or its `clientInfo`; undefined if the client gave none. */
export function clientNameOf(call: Call): string | undefined {
  const { request, meta, session } = call;
  if (session.clientName !== undefined) return session.clientName;
  const info: unknown = isStateless(call)
    ? valueOf(request.bytes, meta?.get(metaKeys.clientInfo))
    : session.client && JSON.parse(session.client.clientInfo);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Returns the revision of MCP whose form the lists for the client of a call have. */
export const revisionOf = (
  call: Pick<Call, 'era'> & { readonly session: Pick<SessionState, 'protocolVersion'> },
): string => (isStateless(call) ? modernVersion : (call.session.protocolVersion ?? latestVersion));

/** Maximum number of cached names of clients that send their name in each request. */
const maxNames = 1_000;
const maxNameLength = 100;
/** Maximum length in characters of a cached `clientInfo`. A longer one is parsed each time, to save memory. */
const maxKeptLength = 4 * 1024;

/** Returns a function that reads the name of a client. Each name is parsed only once. */
export function createClientNames() {
  const ofSessions = new WeakMap<object, string>();
  const ofRequests = new Map<string, string>();
  return (
    { client, principal }: Pick<SessionState, 'client' | 'principal'>,
    { bytes }: Request,
    meta: Call['meta'],
  ): string | undefined => {
    // Agents and jobs of the hub send no `clientInfo`.
    if (principal.kind === 'agent' || principal.kind === 'job') return policyNameOf(principal);
    if (client) {
      let name = ofSessions.get(client);
      if (name === undefined) ofSessions.set(client, (name = named(client.clientInfo)));
      return name || undefined;
    }
    const span = meta?.get(metaKeys.clientInfo);
    if (!span) return undefined;
    const text = rawText(bytes, span);
    if (text.length > maxKeptLength) return named(text) || undefined;
    let name = ofRequests.get(text);
    if (name === undefined) {
      if (ofRequests.size >= maxNames) ofRequests.clear();
      ofRequests.set(text, (name = named(text)));
    }
    return name || undefined;
  };
}

/** Returns name and version of a `clientInfo`, which is JSON text; an empty string if the client gave no name. */
export function named(clientInfo: string): string {
  const info: unknown = JSON.parse(clientInfo);
  const words = isObject(info) ? [info['name'], info['version']] : [];
  const text = words.filter(word => typeof word === 'string' && word !== '').join(' ');
  return redactText(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, maxNameLength);
}

/** Describes a session for operators. */
export const openSessionOf = ({
  key,
  client,
  over,
  endpoint,
  ...state
}: SessionState): OpenSession => ({
  id: key,
  client: (client && named(client.clientInfo)) || undefined,
  over,
  server: endpoint === 'all' ? undefined : endpoint.config.name,
  protocolVersion: state.protocolVersion,
  openedAt: state.openedAt,
  inFlight: state.inFlight.size,
});
