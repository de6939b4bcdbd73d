import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Request, RpcError, membersOf, readMessage, rpcCodes, whole } from '#jsonrpc';
import { isSamePrincipal } from '#policy';
import type { Session } from '#routing';
import { messagesPath, sendJson, stopping } from '#transports';
import type { RouteAdmission } from '../admission.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { headOfAnswer } from '../errors.ts';
import type { McpPaths } from '../mcp-paths.ts';
import { takeBytes } from './input.ts';

type OfServer = { readonly Params: { readonly server?: string } };

/**
 * Adds `/mcp` for all servers, `/mcp/@{profile}` for those of a profile, `/mcp/{server}` for one server, and `POST
 * /mcp/{server}/{method}` without a session; `/sse` and `/sse/{server}` for clients without streamable HTTP.
 */
export function mcpRoutes(
  app: FastifyInstance,
  { router, transports, access }: Pick<HttpNeeds, 'router' | 'transports' | 'access'>,
  paths: Pick<McpPaths, 'get'>,
  admission: Pick<RouteAdmission, 'principalOf'>,
): void {
  const { streamable, connections, sse } = transports;
  const placeOf = (request: FastifyRequest<OfServer>) =>
    paths.get(request.params.server, admission.principalOf(request));
  /** Calls in progress without a session. The transports do not know them, so this route ends them. */
  const calls = new Set<Session>();
  access?.clients?.ended(({ principal, reason }) => {
    for (const call of calls) if (isSamePrincipal(call.principal, principal)) call.close(reason);
  });

  void app.register(async scope => {
    takeBytes(scope);

    for (const url of ['/mcp', '/mcp/:server'])
      scope.route<OfServer>({
        method: ['GET', 'POST', 'DELETE'],
        url,
        handler(request, reply) {
          const { endpoint, viewer } = placeOf(request);
          reply.hijack();
          streamable.handle(request.raw, reply.raw, bodyOf(request.body), endpoint, viewer);
        },
      });
    for (const url of ['/sse', '/sse/:server'])
      scope.get<OfServer>(url, (request, reply) => {
        const { endpoint, viewer } = placeOf(request);
        reply.hijack();
        sse.open(request, reply.raw, endpoint, viewer);
      });
    scope.post(messagesPath, (request, reply) => {
      const principal = admission.principalOf(request);
      reply.hijack();
      sse.post(request.raw, reply.raw, bodyOf(request.body), principal);
    });
    scope.post<{ Params: { server: string; '*': string } }>(
      '/mcp/:server/*',
      async (request, reply) => {
        if (connections.isDraining) throw stopping();
        const { endpoint, viewer } = paths.get(
          request.params.server,
          admission.principalOf(request),
        );
        const message = requestOf(request.params['*'], bodyOf(request.body));
        const client = reply.raw;
        reply.hijack();
        const session = router.openSessionless(endpoint, viewer);
        // Cancels the call if the client disconnects, because the answer would be lost.
        client.once('close', () => session.close('the client hung up'));
        calls.add(session);
        const answer = await session.accept(message, { send() {} }, viewer);
        calls.delete(session);
        session.close('the request is over');
        if (!answer || client.destroyed) return;
        const { status, headers } = headOfAnswer(whole(answer));
        sendJson(client, status, answer, headers);
      },
    );
  });
}

const bodyOf = (body: unknown) => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/**
 * Returns the request in a body, which is a JSON-RPC request for the method in the path, or its bare params (spec
 * 1.7). Throws RpcError with the code of JSON-RPC 2.0 (section 5.1) for any other body.
 */
function requestOf(method: string, body: Buffer): Request {
  const message = readMessage(body.length === 0 ? Buffer.from('{}') : Buffer.from(body));
  if (message.kind === 'request') {
    if (message.method !== method)
      throw notRequest(
        `the path asks for ${method} and the body for ${message.method}: they must be the same`,
      );
    return message;
  }
  if (message.kind !== 'malformed')
    throw notRequest(`the body must be a request, not a ${message.kind}`);
  if (message.cause === 'not_json')
    throw refused(rpcCodes.parseError, `the body is not JSON: ${message.detail}`);
  // The body is valid JSON, so a brace at the start means an object.
  const start = body.findIndex(byte => byte > 0x20);
  if (body[start] === 0x7b && membersOf(body, { start, end: body.length })?.has('jsonrpc'))
    throw notRequest(`the body is not a JSON-RPC request: ${message.detail}`);
  const params = body.length === 0 ? '{}' : body.toString();
  const wrapped = readMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`),
  );
  if (wrapped.kind !== 'request')
    throw notRequest('the body must be an object: a JSON-RPC request, or the params of one');
  return wrapped;
}

const refused = (code: number, message: string) =>
  new RpcError(code, 'HUB_REQUEST_INVALID', message);

const notRequest = (message: string) => refused(rpcCodes.invalidRequest, message);
