import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { StrandsEngine } from './strands-engine.ts';
import type { Turns } from './turns.ts';

/** Not imported, because an import also loads Node's WebSocket, which takes a tenth of the start-up time. */
const { createServer } = process.getBuiltinModule('node:http');

const maxBodyBytes = 256 * 1024;
const usualCount = 20;
const body = z.strictObject({ message: z.string().min(1) });

/** The HTTP API inside the container: `/chat`, `/history` and `/health`, on loopback. */
export function createHttpApi(engine: StrandsEngine, turns: Turns): Server {
  return createServer((request, response) => {
    answer(request, engine, turns).then(
      ({ status, content }) => send(response, status, content),
      (error: unknown) =>
        send(response, 400, { error: error instanceof Error ? error.message : String(error) }),
    );
  });
}

async function answer(request: IncomingMessage, engine: StrandsEngine, turns: Turns) {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  switch (`${request.method} ${pathname}`) {
    case 'POST /chat': {
      const { data, error } = body.safeParse(JSON.parse(await readBody(request)));
      if (!data) throw new Error(`send {"message": "text"}: ${error.issues[0]?.message}`);
      const {
        message_id,
        status,
        text,
        error: failure,
      } = await turns.chat(randomUUID(), data.message);
      return {
        status: 200,
        content: { message_id, status, text, ...(failure && { error: failure }) },
      };
    }
    case 'GET /history': {
      const count = Number(searchParams.get('count') ?? usualCount);
      if (!Number.isInteger(count) || count < 1)
        throw new Error('count: write a whole number from 1');
      return { status: 200, content: { messages: engine.history(count) } };
    }
    case 'GET /health':
      return { status: 200, content: { ...engine.health(), queued: turns.queued } };
    default:
      return {
        status: 404,
        content: { error: 'there are POST /chat, GET /history and GET /health' },
      };
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Error(`the body has more than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(content));
}
