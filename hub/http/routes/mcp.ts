import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HubError } from '#core';
import { type Request, membersOf, readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Router, View } from '#routing';
import type { Servers } from '#servers';
import { type Connections, type Streamable, sendJson, stopping } from '#transports';
import { headOfAnswer } from '../errors.ts';
import { takeBytes } from './bytes.ts';

type Needs = {
  readonly servers: Servers;
  readonly router: Pick<Router, 'openSessionless'>;
  readonly streamable: Pick<Streamable, 'handle'>;
  readonly connections: Pick<Connections, 'isDraining'>;
  /** The principal of a request that the guard admitted to its route. */
  readonly principalOf: (request: FastifyRequest) => Principal;
};

/** `/mcp` for all servers, `/mcp/{server}` for one, `POST /mcp/{server}/{method}` without a session. */
export function mcpRoutes(app: FastifyInstance, needs: Needs): void {
  void app.register(async scope => {
    takeBytes(scope);

    const method = ['GET', 'POST', 'DELETE'];
    scope.route({
      method,
      url: '/mcp',
      handler(request, reply) {
        const principal = needs.principalOf(request);
        reply.hijack();
        needs.streamable.handle(request.raw, reply.raw, bodyOf(request.body), 'all', principal);
      },
    });
    scope.route<{ Params: { server: string } }>({
      method,
      url: '/mcp/:server',
      handler(request, reply) {
        const view: View = needs.servers.get(request.params.server);
        const principal = needs.principalOf(request);
        reply.hijack();
        needs.streamable.handle(request.raw, reply.raw, bodyOf(request.body), view, principal);
      },
    });
    scope.post<{ Params: { server: string; '*': string } }>(
      '/mcp/:server/*',
      async (request, reply) => {
        if (needs.connections.isDraining) throw stopping();
        const server = needs.servers.get(request.params.server);
        const message = requestOf(request.params['*'], bodyOf(request.body));
        const principal = needs.principalOf(request);
        const client = reply.raw;
        reply.hijack();
        const session = needs.router.openSessionless(server, principal);
        // The answer is lost if the client disconnects, so the call is cancelled.
        client.once('close', () => session.close('the client hung up'));
        const answer = await session.accept(message, { related() {} }, principal);
        session.close('the request is over');
        if (!answer || client.destroyed) return;
        const { status, headers } = headOfAnswer(whole(answer));
        sendJson(client, status, answer, headers);
      },
    );
  });
}

const bodyOf = (body: unknown) => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** The body is a JSON-RPC request for the method in the path, or its bare params (spec 1.7). */
function requestOf(method: string, body: Buffer): Request {
  const message = readMessage(body.length === 0 ? Buffer.from('{}') : Buffer.from(body));
  if (message.kind === 'request') {
    if (message.method !== method)
      throw new HubError(
        'HUB_REQUEST_INVALID',
        `the path asks for ${method} and the body for ${message.method}: they must be the same`,
      );
    return message;
  }
  if (message.kind !== 'malformed')
    throw new HubError('HUB_REQUEST_INVALID', `the body must be a request, not a ${message.kind}`);
  if (message.cause === 'not_json')
    throw new HubError('HUB_REQUEST_INVALID', `the body is not JSON: ${message.detail}`);
  // The body is JSON, so a brace begins an object.
  const start = body.findIndex(byte => byte > 0x20);
  if (body[start] === 0x7b && membersOf(body, { start, end: body.length })?.has('jsonrpc'))
    throw new HubError('HUB_REQUEST_INVALID', `the body is no JSON-RPC request: ${message.detail}`);
  const params = body.length === 0 ? '{}' : body.toString();
  const wrapped = readMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`),
  );
  if (wrapped.kind !== 'request')
    throw new HubError(
      'HUB_REQUEST_INVALID',
      'the body must be an object: a JSON-RPC request, or the params of one',
    );
  return wrapped;
}
