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

/** What the tools of a server want their calls to repeat in headers (MCP 2026-07-28, `x-mcp-header`). */
export type ToolHeaders = {
  /**
   * Learns from an answer to `tools/list`, and gives it without the tools that must not be called over
   * HTTP because they declare headers against the rules.
   */
  learn(answer: Answer, request: Request): Answer;
  /** The headers that repeat something of a request: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`. */
  headersOf(request: Request): Readonly<Record<string, string>>;
};

/** Tools with declared headers are known up to this many. A tool too many is left out like a bad one. */
const maxTools = 10_000;

/** Knows nothing until a list of tools has come: the hub reads it before any call. */
export function createToolHeaders(
  { server }: { readonly server: string },
  { log }: { readonly log: Pick<Log, 'warn'> },
): ToolHeaders {
  const declared = new Map<string, readonly ParamHeader[]>();

  /** Why the tool has to be left out; undefined where it may stay. */
  function refuse(tool: Buffer, name: string): string | undefined {
    const read = readParamHeaders(tool);
    if (!read.valid) return read.reason;
    if (read.headers.length === 0) return undefined;
    if (declared.size >= maxTools) return `more than ${maxTools} tools declare headers`;
    declared.set(name, read.headers);
    return undefined;
  }

  return {
    learn(answer, request) {
      const { bytes } = answer;
      if (answer.failed) return answer;
      // The first page begins the list anew.
      if (!membersOf(request.bytes, request.params)?.has('cursor')) declared.clear();
      const list = membersOf(bytes, answer.payload)?.get('tools');
      if (!list || !bytes.includes('x-mcp-header')) return answer;
      const all = elementsOf(bytes, list);
      const kept = all.filter(tool => {
        const name = stringAt(bytes, membersOf(bytes, tool)?.get('name')) ?? '';
        const reason = refuse(bytes.subarray(tool.start, tool.end), name);
        if (reason !== undefined)
          log.warn(
            { server, tool: name, reason },
            'a tool is left out: its headers are not allowed',
          );
        return reason === undefined;
      });
      if (kept.length === all.length) return answer;
      const text = `[${kept.map(tool => rawText(bytes, tool)).join(',')}]`;
      const changed = readMessage(splice(bytes, [{ span: list, text }]));
      return changed.kind === 'answer' ? changed : answer;
    },

    headersOf(request) {
      const isCall = request.method === 'tools/call';
      const name = isCall
        ? stringAt(request.bytes, membersOf(request.bytes, request.params)?.get('name'))
        : undefined;
      return headersFor(request, (name !== undefined && declared.get(name)) || []);
    },
  };
}
