import { isObject } from '#core';
import {
  type Answer,
  type Edit,
  dropMembers,
  membersOf,
  rpcCodes,
  setMembers,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Call } from '../call.ts';
import { readAnswer } from './send.ts';

/** Results that say how long they may be kept (MCP 2026-07-28, caching). */
const cacheable = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Members of a result that must be read again each time. */
const uncached = { ttlMs: '0', cacheScope: '"private"' };

/**
 * The answer of a server of the sessionful revisions as the stateless one has it: results say that they
 * are whole and that they are not to be kept, and the code of an unknown resource is another. With the
 * id of the request in it, given as JSON text.
 */
export function toModernResult(bytes: Buffer, id: string, method: string): Buffer {
  const answer = readAnswer(bytes);
  const edits: Edit[] = answer.id ? [{ span: answer.id, text: id }] : [];
  const members = membersOf(bytes, answer.payload);
  if (!members) return splice(bytes, edits);
  if (answer.failed) {
    const code = members.get('code');
    if (code && valueOf(bytes, code) === rpcCodes.resourceNotFound)
      edits.push({ span: code, text: String(rpcCodes.invalidParams) });
  } else {
    const wanted = {
      ...(!members.has('resultType') && { resultType: '"complete"' }),
      ...(cacheable.has(method) && uncached),
    };
    edits.push(...setMembers(answer.payload, members, wanted));
  }
  return splice(bytes, edits);
}

/**
 * The error answer of a server of the stateless revision as the others have it: an unknown resource has a
 * code of its own there. It is told from other faults of the request by the URI in its data.
 */
export function notFoundAsBefore({ bytes, payload }: Answer, method: string): Buffer {
  const members = method === 'resources/read' ? membersOf(bytes, payload) : undefined;
  const code = members?.get('code');
  const uri = stringAt(bytes, membersOf(bytes, members?.get('data'))?.get('uri'));
  return code && uri !== undefined && valueOf(bytes, code) === rpcCodes.invalidParams
    ? splice(bytes, [{ span: code, text: String(rpcCodes.resourceNotFound) }])
    : bytes;
}

/** A complete result of the hub's own, as JSON text. `ttlMs`: how long it may be kept. */
export function completeResult(
  result: object,
  cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' },
): string {
  return JSON.stringify({ resultType: 'complete', ...result, ...cache });
}

/** What `server/discover` tells of a server that was initialised. */
export function discovered(initialized: unknown): object {
  const { capabilities, serverInfo, instructions } = isObject(initialized) ? initialized : {};
  const declared = isObject(capabilities) ? capabilities : {};
  // Tasks are an extension of another shape there.
  const { tasks: _tasks, ...kept } = declared;
  return {
    capabilities: kept,
    ...(typeof instructions === 'string' && { instructions }),
    _meta: { [metaKeys.serverInfo]: serverInfo },
  };
}

/** What a client of the stateless revision says of itself in each request. */
export const clientMetadata: ReadonlySet<string> = new Set([
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.logLevel,
]);

/**
 * Takes that out of a request: a server with a session has been told it before, and could take the request for
 * one of the other revision.
 */
export function withoutClientMetadata({ request, meta }: Call): readonly Edit[] {
  const span = membersOf(request.bytes, request.params)?.get('_meta');
  return span && meta ? dropMembers(request.bytes, span, meta, clientMetadata) : [];
}
