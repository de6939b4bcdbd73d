import {
  type Answer,
  type Edit,
  type Span,
  elementsOf,
  membersOf,
  rawText,
  setMembers,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { legacyTool } from '#mcp';
import type { Item, Server } from '#servers';
import type { Call } from '../call.ts';

/** What `membersOf` tells of a result. */
type ResultMembers = ReadonlyMap<string, Span>;

/**
 * The result of a server of MCP 2026-07-28 as the revisions before it have it: there `outputSchema` and
 * `structuredContent` are objects, and what is something else stands in one as `result` (SEP-2106). Only clients
 * whose revision is not the server's are given results by it.
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

/** `hasWrappedSchema`: the client was given another `outputSchema` for the tool than the server has. */
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
  // Clients that read no structured content are given text, as the official SDK's servers give it.
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

/** The tools of a list whose `outputSchema` is wrapped, found once for as long as the list is the same. */
const wrappedOf = new WeakMap<readonly Item[], ReadonlySet<string>>();

function isWrapped(name: string | undefined, tools: readonly Item[]): boolean {
  const wrapped =
    wrappedOf.get(tools) ??
    new Set(tools.flatMap(({ key, legacyBytes }) => (legacyBytes ? [key] : [])));
  wrappedOf.set(tools, wrapped);
  return name !== undefined && wrapped.has(name);
}
