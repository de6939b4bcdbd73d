import type { MetricFamily } from './exposition.ts';

/** Members of a call that are used as labels. */
type LabelledCall = {
  readonly method: string;
  readonly server: string | undefined;
  readonly name?: string | undefined;
  readonly outcome: string;
};

/** Maximum number of series of tools. Further calls count under `other`, as clients choose tool names. */
export const maxToolSeries = 1_000;

/** Label value of the series for all tools without series of their own. */
const other = 'other';

/** Matches tool names (MCP 2025-11-25, server/tools). Other names are counted as `other`. */
const toolName = /^[\w./-]{1,128}$/;

/** Returns the tool of a call as a label; undefined if the call is not one of a tool at a server. */
export const toolOf = ({ method, server, name }: LabelledCall): string | undefined =>
  method !== 'tools/call' || server === undefined || name === undefined
    ? undefined
    : toolName.test(name)
      ? name
      : other;

type Cell = {
  readonly client: string;
  readonly server: string;
  readonly tool: string;
  readonly outcome: string;
  count: number;
};

/** Counts tool calls by client, server, tool and outcome. */
export function createToolCalls() {
  const cells = new Map<string, Cell>();
  let last: Cell | undefined;

  function cellOf(client: string, server: string, tool: string, outcome: string): Cell {
    const key = `${client}\n${server}\n${tool}\n${outcome}`;
    let cell = cells.get(key);
    if (!cell && cells.size >= maxToolSeries && tool !== other)
      return cellOf(other, other, other, outcome);
    if (!cell) cells.set(key, (cell = { client, server, tool, outcome, count: 0 }));
    return (last = cell);
  }

  return {
    /** Counts a call. `client` is the policy name of the principal. */
    record(call: LabelledCall, client: string): void {
      if (last && isOf(last, call, client)) {
        last.count++;
        return;
      }
      const tool = toolOf(call);
      if (tool === undefined || call.server === undefined) return;
      if (tool === other) cellOf(other, other, other, call.outcome).count++;
      else cellOf(client, call.server, tool, call.outcome).count++;
    },
    family: (): MetricFamily => ({
      name: 'agenthub_tool_calls_total',
      help: 'Answered calls of tools by client, server and tool.',
      type: 'counter',
      samples: Array.from(cells.values(), ({ count, ...labels }) => ({ labels, value: count })),
    }),
    /** Drops the series of servers that are not in the set. */
    keep(servers: ReadonlySet<string>): void {
      for (const [key, { server }] of cells)
        if (server !== other && !servers.has(server)) cells.delete(key);
      last = undefined;
    },
  };
}

/** True if a call belongs to this counter, as consecutive calls usually share one. */
const isOf = (cell: Cell, { method, server, name, outcome }: LabelledCall, client: string) =>
  cell.tool === name &&
  cell.client === client &&
  cell.server === server &&
  cell.outcome === outcome &&
  method === 'tools/call';
