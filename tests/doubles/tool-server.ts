import { json } from '../runtimes/remote/scene.ts';
import { type Served, serve } from '../runtimes/remote/serve.ts';

/** A tool: takes the arguments of a call and returns its result. */
type Tool = (given: { readonly [name: string]: unknown }) => object | Promise<object>;

/**
 * Starts an MCP server of 2025-11-25 over HTTP in this process, for any number of hubs, which need no process for it.
 * It has no sessions and no streams.
 */
export async function startToolServer(
  tools: Readonly<Record<string, Tool>>,
): Promise<Served & AsyncDisposable> {
  const listed = Object.keys(tools).map(name => ({ name, inputSchema: { type: 'object' } }));
  const served = await serve(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const chunks: Buffer[] = await request.toArray();
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    if (id === undefined) return void response.writeHead(202).end();
    json(response, { jsonrpc: '2.0', id, result: await resultOf(method, params) });
  });

  async function resultOf(method: unknown, params: { name: string; arguments: object }) {
    if (method === 'initialize') return introduction;
    if (method === 'tools/list') return { tools: listed };
    return method === 'tools/call' ? await tools[params.name]?.({ ...params.arguments }) : {};
  }
  return { ...served, [Symbol.asyncDispose]: () => served.stop() };
}

const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'tools', version: '1.0.0' },
};
