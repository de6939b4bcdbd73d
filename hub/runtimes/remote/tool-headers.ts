import type { Log } from '#core';
import {
  type Answer,
  type Request,
  elementsOf,
  membersOf,
  rawText,
  readMessage,
  splice,
  stringAt,
} from '#jsonrpc';
import { type ParamHeader, headersFor, readParamHeaders } from '#mcp';

/** Maximum number of tools whose headers are stored. Further tools are omitted. */
const maxTools = 10_000;

/**
 * Stores the headers that tools require for their calls (MCP 2026-07-28, `x-mcp-header`), from the latest complete list
 * of tools. While a new list is read in pages, the headers of the previous list still apply.
 */
export function createToolHeaders(
  { server }: { readonly server: string },
  { log }: { readonly log: Pick<Log, 'warn'> },
) {
  let declared: ReadonlyMap<string, readonly ParamHeader[]> = new Map();
  /** The headers of the list that is being read. */
  let reading = new Map<string, readonly ParamHeader[]>();

  /** Returns the reason to omit a tool, if any. */
  function refuse(tool: Buffer, name: string): string | undefined {
    const read = readParamHeaders(tool);
    if (!read.valid) return read.reason;
    if (read.headers.length === 0) return undefined;
    if (reading.size >= maxTools) return `more than ${maxTools} tools declare headers`;
    reading.set(name, read.headers);
    return undefined;
  }

  return {
    /** Reads a response to `tools/list`, and returns it without the tools that declare invalid headers. */
    learn(answer: Answer, request: Request): Answer {
      const { bytes } = answer;
      if (answer.failed) return answer;
      // The first page starts a new list.
      if (!membersOf(request.bytes, request.params)?.has('cursor')) reading = new Map();
      const page = membersOf(bytes, answer.payload);
      if (!page?.has('nextCursor')) declared = reading;
      const list = page?.get('tools');
      if (!list || !bytes.includes('x-mcp-header')) return answer;
      const all = elementsOf(bytes, list);
      const kept = all.filter(tool => {
        const name = stringAt(bytes, membersOf(bytes, tool)?.get('name')) ?? '';
        const reason = refuse(bytes.subarray(tool.start, tool.end), name);
        if (reason === undefined) return true;
        const fields = { server, tool: name, reason };
        log.warn(fields, 'a tool is omitted: its headers are not allowed');
        return false;
      });
      if (kept.length === all.length) return answer;
      const text = `[${kept.map(tool => rawText(bytes, tool)).join(',')}]`;
      const changed = readMessage(splice(bytes, [{ span: list, text }]));
      return changed.kind === 'answer' ? changed : answer;
    },

    /** Returns the headers of a request: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`. */
    headersOf(request: Request): Readonly<Record<string, string>> {
      const { bytes, method, params } = request;
      const name =
        method === 'tools/call'
          ? stringAt(bytes, membersOf(bytes, params)?.get('name'))
          : undefined;
      const headers = name === undefined ? undefined : (reading.get(name) ?? declared.get(name));
      return headersFor(request, headers ?? []);
    },
  };
}
