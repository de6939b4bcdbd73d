import { isObject } from '#core';
import {
  type Answer,
  type Edit,
  dropMembers,
  elementsOf,
  membersOf,
  rawText,
  readAnswer,
  rpcCodes,
  setMembers,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { legacyTool, metaKeys } from '#mcp';
import type { Item, Server } from '#servers';
import type { Call, MemberSpans } from '../call.ts';

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
 * Converts an answer of MCP 2025-11-25 or older to MCP 2026-07-28: marks results as complete and not cacheable,
 * replaces the error code for an unknown resource, and sets the request id, which is JSON text.
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

/**
 * Sets the cache scope of a result to private, so that no shared cache gives it to clients that the policy may refuse
 * (MCP 2026-07-28, caching).
 */
export function asPrivate(bytes: Buffer): Buffer {
  const { payload, failed } = readAnswer(bytes);
  const scope = failed ? undefined : membersOf(bytes, payload)?.get('cacheScope');
  return scope ? splice(bytes, [{ span: scope, text: '"private"' }]) : bytes;
}

/** Returns a complete result made by the hub, as JSON text. `ttlMs`: how long the client may cache the result. */
export function completeResult(
  result: object,
  cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' },
): string {
  return JSON.stringify({ resultType: 'complete', ...result, ...cache });
}

/** Converts the `initialize` result of a server to a `server/discover` result. */
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

/** The `_meta` members that describe a stateless client in each request. */
export const clientMetadata: ReadonlySet<string> = new Set([
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.logLevel,
]);

/**
 * Removes the `_meta` members of a stateless client: a server with sessions could mistake the request for one of MCP
 * 2026-07-28.
 */
export function withoutClientMetadata({ request, meta }: Call): readonly Edit[] {
  const span = membersOf(request.bytes, request.params)?.get('_meta');
  return span && meta ? dropMembers(request.bytes, span, meta, clientMetadata) : [];
}

const taskMember: ReadonlySet<string> = new Set(['task']);

/**
 * Removes `task` from a call of a tool: MCP 2026-07-28 ignores it (SEP-2663), and a server with sessions would make a
 * task that the client cannot get.
 */
export const withoutTask = ({ request, params }: Call): readonly Edit[] =>
  request.method === 'tools/call' && request.params && params.has('task')
    ? dropMembers(request.bytes, request.params, params, taskMember)
    : [];

/**
 * Converts a result of MCP 2026-07-28 to an older revision, which requires `outputSchema` and `structuredContent` to be
 * objects: any other value is wrapped as `result` (SEP-2106).
 */
export function asLegacy(
  answer: Answer,
  result: MemberSpans | undefined,
  call: Call,
  edits: readonly Edit[],
  server: Pick<Server, 'listing'>,
): Buffer {
  const { method } = call.request;
  if (!result) return answer.bytes;
  if (method === 'tools/list') return withLegacyTools(answer, result);
  return method === 'tools/call'
    ? withLegacyContent(answer, result, () => isWrapped(ownName(call, edits), server.listing.tool))
    : answer.bytes;
}

function withLegacyTools({ bytes }: Answer, result: MemberSpans): Buffer {
  const tools = elementsOf(bytes, result.get('tools'));
  const edits = tools.flatMap(span => {
    const wrapped = legacyTool(bytes.subarray(span.start, span.end));
    return wrapped ? [{ span, text: wrapped.toString() }] : [];
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/**
 * Wraps `structuredContent` as `result` where older revisions need an object, and adds its text. `hasWrappedSchema`:
 * true if the hub wrapped the `outputSchema` of the tool.
 */
function withLegacyContent(
  { bytes, payload }: Answer,
  result: MemberSpans,
  hasWrappedSchema: () => boolean,
): Buffer {
  const structured = result.get('structuredContent');
  if (!structured) return bytes;
  const isObject = bytes[structured.start] === 0x7b;
  if (isObject && !hasWrappedSchema()) return bytes;
  const text = rawText(bytes, structured);
  const wrapped = { span: structured, text: `{"result":${text}}` };
  if (isObject) return splice(bytes, [wrapped]);
  // Adds a text block for clients that do not read structured content, as the servers of the official SDK do.
  const block = JSON.stringify({
    type: 'text',
    text: JSON.stringify(valueOf(bytes, structured)),
  });
  const content = result.get('content');
  if (!content)
    return splice(bytes, [wrapped, ...setMembers(payload, result, { content: `[${block}]` })]);
  const blocks = elementsOf(bytes, content);
  const hasText = blocks.some(
    span => stringAt(bytes, membersOf(bytes, span)?.get('type')) === 'text',
  );
  if (hasText || bytes[content.start] !== 0x5b) return splice(bytes, [wrapped]);
  const end = blocks.at(-1)?.end ?? content.start + 1;
  const added = { span: { start: end, end }, text: `${blocks.length > 0 ? ',' : ''}${block}` };
  return splice(bytes, [wrapped, added]);
}

/** Returns the server's own name for the tool of a call. */
export function ownName({ request, params }: Call, edits: readonly Edit[]): string | undefined {
  const name = params.get('name');
  const edit = edits.find(({ span }) => span.start === name?.start);
  const text: unknown = edit ? JSON.parse(edit.text) : stringAt(request.bytes, name);
  return typeof text === 'string' ? text : undefined;
}

/** Names of the tools in a list whose `outputSchema` is wrapped. Cached until the list changes. */
const wrappedOf = new WeakMap<readonly Item[], ReadonlySet<string>>();

function isWrapped(name: string | undefined, tools: readonly Item[]): boolean {
  const wrapped =
    wrappedOf.get(tools) ??
    new Set(tools.flatMap(({ key, legacyBytes }) => (legacyBytes ? [key] : [])));
  wrappedOf.set(tools, wrapped);
  return name !== undefined && wrapped.has(name);
}
