import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as HttpOfV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const sdkVersions = ['v1', 'v2'] as const;
type SdkVersion = (typeof sdkVersions)[number];

/** The calls that the tests make of the clients of both SDK versions. */
export type SdkClient = AsyncDisposable & {
  toolNames(): Promise<readonly string[]>;
  /** Calls a tool. Resolves with the texts of the result, joined, after `error: ` if the tool failed. */
  call(tool: string, args?: Record<string, unknown>): Promise<string>;
};

const clientInfo = { name: 'agenthub-tests', version: '1.0.0' };

/** Connects a client of the official SDK: v1 `@modelcontextprotocol/sdk`, v2 `@modelcontextprotocol/client`. */
export async function connect(url: string, version: SdkVersion = 'v1'): Promise<SdkClient> {
  if (version === 'v2') {
    const client = new ClientOfV2(clientInfo);
    await client.connect(new HttpOfV2(new URL(url)));
    return over(client, async () => (await client.listTools()).tools);
  }
  const client = new Client(clientInfo);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return over(client, async () => (await client.listTools()).tools);
}

type Caller = {
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
};

function over(
  client: Caller,
  list: () => Promise<readonly { readonly name: string }[]>,
): SdkClient {
  return {
    toolNames: async () => (await list()).map(tool => tool.name),
    async call(tool, args = {}) {
      return textOf(await client.callTool({ name: tool, arguments: args }));
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function textOf(result: unknown): string {
  if (typeof result !== 'object' || result === null || !('content' in result)) return '';
  const texts = Array.isArray(result.content)
    ? result.content.map((part: { readonly text?: string }) => part.text ?? '')
    : [];
  const failed = 'isError' in result && result.isError === true;
  return `${failed ? 'error: ' : ''}${texts.join('')}`;
}
