import { type Way, requestText } from './job.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';

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

/** Calls a tool over streamable HTTP, all calls in one open session. */
export async function wayOverMcp(url: string, tool: string): Promise<Way> {
  const connection = await openConnection(new URL(url));
  const headers = await openSession(connection);
  connection.close();
  return wayOver(url, headers, tool);
}

/** Posts the same requests to a server that answers whatever it likes. */
export const wayOverHttp = (url: string): Way => wayOver(url, '', 'any');

function wayOver(url: string, headers: string, tool: string): Way {
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
          connection.post(headers, requestText(id, tool, bytes), ({ body }) => {
            free.push(connection);
            done(body);
          });
        },
        end: () => all.forEach(connection => connection.close()),
      };
    },
  };
}

async function openSession(connection: HttpConnection): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  connection.post('', introduction, ({ status, head, body }) => {
    const session = /\r\nmcp-session-id: (\S+)/.exec(head)?.[1];
    if (session === undefined) throw new Error(`initialize: ${status} ${body.toString()}`);
    resolve(`mcp-session-id: ${session}\r\nmcp-protocol-version: 2025-11-25\r\n`);
  });
  const headers = await promise;
  const initialized = Promise.withResolvers<void>();
  connection.post(headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}', () =>
    initialized.resolve(),
  );
  await initialized.promise;
  return headers;
}
