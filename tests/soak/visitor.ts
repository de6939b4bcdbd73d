import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** A client that ends its session when it is disposed of. */
type Visitor = AsyncDisposable & {
  /** Calls the tool `echo`. Resolves with the text of the result. Rejects if the call fails. */
  echo(text: string): Promise<unknown>;
};

/** Connects to an endpoint with the official SDK. If the hub refuses, rejects and leaves nothing open. */
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
