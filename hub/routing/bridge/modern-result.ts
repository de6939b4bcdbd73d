import {
  setMembers,
  type Answer,
  type Edit,
  dropMembers,
  membersOf,
  rpcCodes,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { isObject } from '#core';
import { metaKeys } from '#mcp';
import type { Call } from '../call.ts';
import { readAnswer } from './send.ts';

/** Methods whose results state how long they may be cached (MCP 2026-07-28, caching). */
const cacheable = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Members of a result that must not be cached. */
const uncached = { ttlMs: '0', cacheScope: '"private"' };

/**
 * Converts an answer of MCP 2025-11-25 or older to MCP 2026-07-28. Marks results as complete and not cacheable, and
 * replaces the error code for an unknown resource. Also sets the request id, which is JSON text.
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
 * Converts an error answer of MCP 2026-07-28 to the older revisions, which have a separate code for an unknown
 * resource. The URI in the error data distinguishes this error from other invalid requests.
 */
export function notFoundAsBefore({ bytes, payload }: Answer, method: string): Buffer {
  const members = method === 'resources/read' ? membersOf(bytes, payload) : undefined;
  const code = members?.get('code');
  const uri = stringAt(bytes, membersOf(bytes, members?.get('data'))?.get('uri'));
  return code && uri !== undefined && valueOf(bytes, code) === rpcCodes.invalidParams
    ? splice(bytes, [{ span: code, text: String(rpcCodes.resourceNotFound) }])
    : bytes;
}

/** A complete result made by the hub, as JSON text. `ttlMs`: how long the client may cache the result. */
export function completeResult(
  result: object,
  cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' },
): string {
  return JSON.stringify({ resultType: 'complete', ...result, ...cache });
}

/** The `server/discover` result for a server that was initialized. */
export function discovered(initialized: unknown): object {
  const { capabilities, serverInfo, instructions } = isObject(initialized) ? initialized : {};
  const declared = isObject(capabilities) ? capabilities : {};
  // MCP 2026-07-28 declares tasks as an extension, in a different form.
  const { tasks: _tasks, ...kept } = declared;
  return {
    capabilities: kept,
    ...(typeof instructions === 'string' && { instructions }),
    _meta: { [metaKeys.serverInfo]: serverInfo },
  };
}

/** The `_meta` members in which a stateless client describes itself in each request. */
export const clientMetadata: ReadonlySet<string> = new Set([
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.logLevel,
]);

/**
 * Removes the client metadata from a request. A server with sessions got this data at `initialize`, and could mistake
 * the request for one of MCP 2026-07-28.
 */
export function withoutClientMetadata({ request, meta }: Call): readonly Edit[] {
  const span = membersOf(request.bytes, request.params)?.get('_meta');
  return span && meta ? dropMembers(request.bytes, span, meta, clientMetadata) : [];
}
