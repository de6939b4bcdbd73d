import {
  setMembers,
  type Answer,
  type Edit,
  type Span,
  elementsOf,
  membersOf,
  rawText,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { legacyTool } from '#mcp';
import type { Item, Server } from '#servers';
import type { Call } from '../call.ts';

/** The members of a result, as returned by `membersOf`. */
type ResultMembers = ReadonlyMap<string, Span>;

/**
 * Converts a result of MCP 2026-07-28 to an older revision. Older revisions require `outputSchema` and
 * `structuredContent` to be objects. Any other value is wrapped in an object as `result` (SEP-2106). Call this only
 * if the revisions of client and server differ.
 */
export function asLegacy(
  answer: Answer,
  result: ResultMembers | undefined,
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

function withLegacyTools({ bytes }: Answer, result: ResultMembers): Buffer {
  const tools = elementsOf(bytes, result.get('tools'));
  const edits = tools.flatMap(span => {
    const wrapped = legacyTool(bytes.subarray(span.start, span.end));
    return wrapped ? [{ span, text: wrapped.toString() }] : [];
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** `hasWrappedSchema`: true if the hub wrapped the `outputSchema` of the tool for the client. */
function withLegacyContent(
  { bytes, payload }: Answer,
  result: ResultMembers,
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

/** The server's own name for the tool of a call. */
function ownName({ request, params }: Call, edits: readonly Edit[]): string | undefined {
  const name = params.get('name');
  const edit = edits.find(({ span }) => span.start === name?.start);
  const text: unknown = edit ? JSON.parse(edit.text) : stringAt(request.bytes, name);
  return typeof text === 'string' ? text : undefined;
}

/** Tools of a list whose `outputSchema` is wrapped. Cached until the list changes. */
const wrappedOf = new WeakMap<readonly Item[], ReadonlySet<string>>();

function isWrapped(name: string | undefined, tools: readonly Item[]): boolean {
  const wrapped =
    wrappedOf.get(tools) ??
    new Set(tools.flatMap(({ key, legacyBytes }) => (legacyBytes ? [key] : [])));
  wrappedOf.set(tools, wrapped);
  return name !== undefined && wrapped.has(name);
}
