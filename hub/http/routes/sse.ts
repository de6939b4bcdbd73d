import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Principal } from '#policy';
import type { Servers } from '#servers';
import { type Sse, messagesPath } from '#transports';
import { takeBytes } from './bytes.ts';

type Needs = {
  readonly servers: Pick<Servers, 'get'>;
  readonly sse: Sse;
  /** The principal of a request that the guard admitted to its route. */
  readonly principalOf: (request: FastifyRequest) => Principal;
};

/** `/sse` for all servers and `/sse/{server}` for one, for clients without streamable HTTP. */
export function sseRoutes(app: FastifyInstance, { servers, sse, principalOf }: Needs): void {
  void app.register(async scope => {
    takeBytes(scope);
    scope.get('/sse', (request, reply) => {
      const principal = principalOf(request);
      reply.hijack();
      sse.open(reply.raw, 'all', principal);
    });
    scope.get<{ Params: { server: string } }>('/sse/:server', (request, reply) => {
      const view = servers.get(request.params.server);
      const principal = principalOf(request);
      reply.hijack();
      sse.open(reply.raw, view, principal);
    });
    scope.post(messagesPath, (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const principal = principalOf(request);
      reply.hijack();
      sse.post(request.raw, reply.raw, body, principal);
    });
  });
}
