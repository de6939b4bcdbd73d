import { once } from 'node:events';
import http from 'node:http';
import { obey } from '../../contracts/obedient.ts';
import { serve } from './serve.ts';

type ObedientServer = {
  readonly url: string;
  /** Resolves when the first answer to `echo` has been sent. */
  readonly answered: Promise<void>;
  /** Resolves when a client has opened the stream. */
  readonly streamed: Promise<void>;
  stop(): Promise<void>;
};

/** Starts a server of streamable HTTP (`http`) or HTTP with SSE (`sse`) that executes the commands in its messages. */
export async function startObedientServer(transport: 'http' | 'sse'): Promise<ObedientServer> {
  const answered = Promise.withResolvers<void>();
  const streamed = Promise.withResolvers<void>();
  let stream: http.ServerResponse | undefined;
  let deaf = false;
  let dead = false;

  const server = await serve(async (request, response) => {
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.write(transport === 'sse' ? 'event: endpoint\ndata: /messages\n\n' : ': open\n\n');
      streamed.resolve();
      return;
    }
    if (request.method === 'DELETE') return void response.writeHead(200).end();
    // Leaves the body unread: a listener would start to read it.
    if (deaf) return;
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const answer = obey(text, {
      say: said => void stream?.write(`data: ${said}\n\n`),
      reads: () => 0,
      deafen: () => (deaf = true),
      die: () => (dead = true),
    });
    if (transport === 'sse') {
      response.writeHead(202).end();
      if (answer !== undefined) stream?.write(`data: ${answer}\n\n`, () => answered.resolve());
      if (dead) stream?.end();
      return;
    }
    if (dead) return void response.writeHead(404).end();
    if (answer === undefined) return void response.writeHead(202).end();
    const session = text.includes('"initialize"') ? { 'mcp-session-id': 'a-session' } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...session }).end(answer);
    await once(response, 'finish');
    if (!text.includes('"initialize"')) answered.resolve();
  });
  return {
    url: server.url,
    answered: answered.promise,
    streamed: streamed.promise,
    stop: () => server.stop(),
  };
}
