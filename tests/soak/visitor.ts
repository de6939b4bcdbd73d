import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** A client that ends its session when it goes. */
type Visitor = AsyncDisposable & {
  /** The text that the tool `echo` answers. Rejects where the call failed. */
  echo(text: string): Promise<unknown>;
};

/** Connects to an endpoint as the official SDK does. Rejects where the hub refuses, with nothing left. */
export async function visit(url: string): Promise<Visitor> {
  const client = new Client({ name: 'agenthub-soak', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return {
    async echo(text) {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } });
      const [first]: readonly unknown[] = Array.isArray(content) ? content : [];
      return typeof first === 'object' && first && 'text' in first ? first.text : undefined;
    },
    async [Symbol.asyncDispose]() {
      try {
        await transport.terminateSession();
      } finally {
        await client.close();
      }
    },
  };
}
