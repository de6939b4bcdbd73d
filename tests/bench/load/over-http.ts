import { type Target, type Way, listText, requestText } from './job.ts';
import { openConnection } from './http-connection.ts';

const introduction = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'load', version: '1.0.0' },
  },
});

type Text = (id: number, bytes: number) => string;

const callOf =
  (tool: string): Text =>
  (id, bytes) =>
    requestText(id, tool, bytes);

type McpTarget = Extract<Target, { readonly kind: 'mcp' }>;

/** Calls a tool over streamable HTTP, all calls in one open session. */
export async function wayOverMcp({ url, tool, token }: McpTarget): Promise<Way> {
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  return wayOver(url, await openSession(url, authorization), callOf(tool));
}

/** Lists the tools, in one open session. */
export const wayOverList = async (url: string): Promise<Way> =>
  wayOver(url, await openSession(url), listText);

/** Posts the same requests to a server that need not speak MCP. */
export const wayOverHttp = (url: string): Way => wayOver(url, '', callOf('any'));

function wayOver(url: string, headers: string, text: Text): Way {
  return {
    async begin(concurrency) {
      const all = await Promise.all(
        Array.from({ length: concurrency }, () => openConnection(new URL(url))),
      );
      const free = [...all];
      return {
        call(id, bytes, done) {
          const connection = free.pop();
          if (!connection) throw new Error('more calls at once than connections');
          connection.post(headers, text(id, bytes), ({ body }) => {
            free.push(connection);
            done(body);
          });
        },
        end: () => all.forEach(connection => connection.close()),
      };
    },
  };
}

/** Sends one request on a new connection, and returns the body of the answer. */
export async function postOnce(url: string, headers: string, text: string): Promise<Buffer> {
  const connection = await openConnection(new URL(url));
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  connection.post(headers, text, ({ body }) => resolve(body));
  const body = await promise;
  connection.close();
  return body;
}

/** Opens a session. Returns its headers and the given ones, as header lines of further requests. */
export async function openSession(url: string, given = ''): Promise<string> {
  const connection = await openConnection(new URL(url));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  connection.post(given, introduction, ({ status, head, body }) => {
    const session = /\r\nmcp-session-id: (\S+)/i.exec(head)?.[1];
    if (session === undefined) reject(new Error(`initialize: ${status} ${body.toString()}`));
    resolve(`${given}mcp-session-id: ${session}\r\nmcp-protocol-version: 2025-11-25\r\n`);
  });
  const headers = await promise;
  const initialized = Promise.withResolvers<void>();
  connection.post(headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}', () =>
    initialized.resolve(),
  );
  await initialized.promise;
  connection.close();
  return headers;
}
