import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';

/** An error response of the hub, or a failure of a turn. `code` is an error code of the hub. */
export class HubFailure extends Error {
  override readonly name = 'HubFailure';
  readonly code: string;
  readonly isRetryable: boolean;

  constructor(code: string, message: string, isRetryable: boolean) {
    super(message);
    this.code = code;
    this.isRetryable = isRetryable;
  }
}

const completion = z.looseObject({
  model: z.string(),
  content: z.union([
    z.looseObject({ type: z.string() }),
    z.array(z.looseObject({ type: z.string() })),
  ]),
  _meta: z.looseObject({}).optional(),
});
export type Completion = z.output<typeof completion>;

const toolList = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      inputSchema: z.looseObject({}),
    }),
  ),
  nextCursor: z.string().optional(),
});
export type ListedTool = z.output<typeof toolList>['tools'][number];

const toolResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type ToolResult = z.output<typeof toolResult>;

/** Code of a request that does not fit into the context of the model. */
export const contextFull = 'HUB_CONTEXT_FULL';

/**
 * Timeouts in ms of requests to the hub. They only end requests that the hub has lost: the hub has shorter timeouts.
 * That of a completion is above the largest `models.timeout_seconds`.
 */
const completionMs = 65 * 60_000;
const toolMs = 15 * 60_000;
const listMs = 60_000;

export const wasRestarted = new HubFailure(
  'HUB_CALL_CANCELLED',
  'the hub was restarted while the tool ran: whether it took effect is unknown',
  false,
);

/** Creates the client for requests to the hub, which uses the MCP connection on which the hub sends its requests. */
export function createHubLink(server: Server) {
  /** Aborted when the hub was restarted and so has lost the requests of the agent. */
  let connection = new AbortController();

  async function ask<T extends z.ZodType>(
    method: string,
    params: { [key: string]: unknown },
    schema: T,
    options: { timeout: number; signal: AbortSignal; onprogress?: () => void },
  ): Promise<z.output<T>> {
    try {
      return await server.request({ method, params }, schema, options);
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      const data: unknown = error instanceof Error && 'data' in error ? error.data : undefined;
      const told = z
        .looseObject({ code: z.string(), retryable: z.boolean().optional() })
        .safeParse(data);
      const message = (error instanceof Error ? error.message : String(error)).replace(
        /^MCP error -?\d+: /,
        '',
      );
      throw new HubFailure(
        told.data?.code ?? 'HUB_INTERNAL',
        message,
        told.data?.retryable === true,
      );
    }
  }

  /** Sends a request again if the hub was restarted before it answered. Only for requests without side effects. */
  async function askUntilHeard<T>(
    signal: AbortSignal,
    request: (heard: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { signal: lost } = connection;
      try {
        return await request(AbortSignal.any([signal, lost]));
      } catch (error) {
        if (signal.aborted || !lost.aborted) throw error;
      }
    }
  }

  return {
    /** Call this after a restart of the hub: completions and lists are requested again, and tool calls fail. */
    reconnected(): void {
      const before = connection;
      connection = new AbortController();
      before.abort(wasRestarted);
    },
    complete: (params: { [key: string]: unknown }, signal: AbortSignal): Promise<Completion> =>
      askUntilHeard(signal, heard =>
        ask('sampling/createMessage', params, completion, {
          timeout: completionMs,
          signal: heard,
          // Requests progress notifications, so that the hub shows the text while the model writes it.
          onprogress: () => undefined,
        }),
      ),
    async tools(signal: AbortSignal): Promise<readonly ListedTool[]> {
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      do {
        const params = cursor === undefined ? {} : { cursor };
        const page = await askUntilHeard(signal, heard =>
          ask('tools/list', params, toolList, { timeout: listMs, signal: heard }),
        );
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    call: (name: string, args: unknown, signal: AbortSignal): Promise<ToolResult> =>
      ask('tools/call', { name, arguments: args }, toolResult, {
        timeout: toolMs,
        signal: AbortSignal.any([signal, connection.signal]),
      }),
  };
}

export type HubLink = ReturnType<typeof createHubLink>;
