import type { IncomingMessage } from 'node:http';
import { HubError, isObject, tryParseExactly, within } from '#core';
import type { HubClient } from './hub-client.ts';
import { type Described, fieldsOf, readEvents, readWhole } from './responses.ts';

/** A tool as listed by `tools/list`. */
export type Tool = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
};

/** Response of a server, or of the hub on its behalf, to an MCP request. */
type McpAnswer =
  | { readonly result: Described; readonly error?: undefined }
  | { readonly error: Described; readonly result?: undefined };

/** An MCP session over streamable HTTP, with the hub or with one of its servers. Disposing the session ends it. */
export type Mcp = Awaited<ReturnType<typeof openMcp>>;

/** MCP revision of the session: the latest with sessions. Later ones require tool parameters in headers. */
const protocolVersion = '2025-11-25';
const accept = 'application/json, text/event-stream';
/** Maximum number of pages of a list, which stops endless pagination. */
const maxPages = 1_000;
const closeMs = 2_000;

/**
 * Opens a session with all servers, or with one server, whose tools then have no prefix. Rejects with the hub's error,
 * or HUB_CONNECT_FAILED.
 */
export async function openMcp(hub: HubClient, server: string | undefined, version: string) {
  const path = server === undefined ? '/mcp' : `/mcp/${encodeURIComponent(server)}`;
  let session: Readonly<Record<string, string>> = {};
  let requests = 0;

  async function post(body: object): Promise<IncomingMessage> {
    return await hub.send({ method: 'POST', path, headers: { accept, ...session }, body });
  }

  async function request(method: string, params: object, progress?: (text: string) => void) {
    const id = ++requests;
    const response = await post({ jsonrpc: '2.0', id, method, params });
    if (!response.headers['content-type']?.startsWith('text/event-stream'))
      return { answer: answerOf(tryParseExactly(await readWhole(response)), hub.url), response };
    for await (const { data } of readEvents(response)) {
      const message = tryParseExactly(data);
      if (!isObject(message)) continue;
      if (message['id'] === id) return { answer: answerOf(message, hub.url), response };
      if (message['method'] === 'notifications/progress')
        progress?.(progressText(message['params']));
    }
    throw unreadable(hub.url);
  }

  /** Returns an error of the hub, whose code is in `data`. */
  async function errorOf({ data, message }: Described): Promise<HubError> {
    return (await hub.errorOf({ ...fieldsOf(data), message })) ?? unreadable(hub.url);
  }

  const clientInfo = { name: 'agenthub-cli', version };
  const opened = await request('initialize', { protocolVersion, capabilities: {}, clientInfo });
  if (opened.answer.error) throw await errorOf(opened.answer.error);
  session = {
    'mcp-session-id': String(opened.response.headers['mcp-session-id']),
    'mcp-protocol-version': String(opened.answer.result['protocolVersion']),
  };
  await readWhole(await post({ jsonrpc: '2.0', method: 'notifications/initialized' }));

  return {
    /** Lists all tools. Rejects with the hub's error. */
    async listTools(): Promise<readonly Tool[]> {
      const tools: Tool[] = [];
      let cursor: unknown;
      for (let page = 0; page < maxPages; page++) {
        const { answer } = await request('tools/list', cursor === undefined ? {} : { cursor });
        if (answer.error) throw await errorOf(answer.error);
        const { tools: found, nextCursor } = answer.result;
        if (Array.isArray(found)) tools.push(...found.filter(isTool));
        if (typeof nextCursor !== 'string') return tools;
        cursor = nextCursor;
      }
      return tools;
    },
    /** Calls a tool. `progress` is called with the server's progress notifications. Rejects with HUB_CONNECT_FAILED. */
    async callTool(name: string, given: unknown, progress: (text: string) => void) {
      const params = { name, arguments: given, _meta: { progressToken: 1 } };
      return (await request('tools/call', params, progress)).answer;
    },
    async [Symbol.asyncDispose]() {
      // End the session even if the command was aborted, because that cancels the call. Ignore errors of a stopped hub.
      await within(closeMs, hub, async signal =>
        readWhole(await hub.send({ method: 'DELETE', path, headers: session, signal })),
      ).catch(() => {}); // The hub ends idle sessions by itself.
    },
  };
}

const isTool = (value: unknown): value is Tool =>
  isObject(value) && typeof value['name'] === 'string';

function answerOf(message: unknown, url: string): McpAnswer {
  const { result, error } = fieldsOf(message);
  if (isObject(result)) return { result };
  if (isObject(error)) return { error };
  throw unreadable(url);
}

function progressText(params: unknown): string {
  const { progress, total, message } = fieldsOf(params);
  const share = `${String(progress)}${typeof total === 'number' ? ` of ${total}` : ''}`;
  return typeof message === 'string' ? `${share}: ${message}` : share;
}

const unreadable = (url: string) =>
  new HubError(
    'HUB_CONNECT_FAILED',
    `the server at ${url} does not respond as an MCP hub. Set the hub's URL with --url, or see its log`,
  );
