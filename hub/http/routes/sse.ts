import type { FastifyInstance } from 'fastify';
import type { Servers } from '#servers';
import { type Sse, messagesPath } from '#transports';
import { takeBytes } from './bytes.ts';

type Needs = {
  readonly servers: Pick<Servers, 'get'>;
  readonly sse: Sse;
};

/** `/sse` for all servers and `/sse/{server}` for one, to clients that know no streamable HTTP. */
export function sseRoutes(app: FastifyInstance, { servers, sse }: Needs): void {
  void app.register(async scope => {
    takeBytes(scope);
    scope.get('/sse', (_request, reply) => {
      reply.hijack();
      sse.open(reply.raw, 'all');
    });
    scope.get<{ Params: { server: string } }>('/sse/:server', (request, reply) => {
      const view = servers.get(request.params.server);
      reply.hijack();
      sse.open(reply.raw, view);
    });
    scope.post(messagesPath, (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      reply.hijack();
      sse.post(request.raw, reply.raw, body);
    });
  });
}
