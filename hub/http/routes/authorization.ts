import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type HubAuthorization,
  authorizationPaths as paths,
  endpointPathOf,
  resourceMetadata,
  serverMetadata,
} from '#access';
import { originOf } from '../admission.ts';

type Needs = {
  readonly authorization: Pick<HubAuthorization, 'register' | 'exchange'>;
  readonly offersLogins: () => boolean;
};

const maxBodyBytes = 16 * 1024;
const publicly = { config: { scope: 'public' }, bodyLimit: maxBodyBytes } as const;

/**
 * The routes of logins of programs to the hub: metadata (RFC 9728, RFC 8414), registration (RFC 7591) and the exchange of
 * codes. They need no credentials, store nothing but exchanged tokens, and do not exist while calls need no token.
 */
export function authorizationRoutes(app: FastifyInstance, needs: Needs): void {
  const { authorization, offersLogins } = needs;

  type Handler = (request: FastifyRequest, reply: FastifyReply) => object | Promise<object>;
  const offered = (handler: Handler) => async (request: FastifyRequest, reply: FastifyReply) => {
    if (!offersLogins()) {
      reply.callNotFound();
      return reply;
    }
    const body = await handler(request, reply.header('cache-control', 'no-store'));
    return await ('error' in body && reply.statusCode < 400 ? reply.code(400) : reply).send(body);
  };

  for (const url of [paths.resource, `${paths.resource}/*`])
    app.get(
      url,
      publicly,
      offered((request, reply) => {
        const path = (request.url.split('?')[0] ?? '').slice(paths.resource.length);
        const endpoint = path === '' || path === '/' ? '/mcp' : endpointPathOf(path);
        if (endpoint === undefined || (path.length > 1 && endpoint !== path))
          return (
            reply.code(404),
            { error: 'invalid_target', error_description: 'no MCP endpoint' }
          );
        return resourceMetadata(originOf(request), endpoint);
      }),
    );
  app.get(
    paths.server,
    publicly,
    offered(request => serverMetadata(originOf(request))),
  );
  app.post(
    paths.register,
    publicly,
    offered((request, reply) => {
      const answer = authorization.register(request.body, originOf(request));
      if (!('error' in answer)) reply.code(201);
      return answer;
    }),
  );
  void app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    scope.post(
      paths.token,
      publicly,
      offered(async ({ body }, reply) => {
        const form = body instanceof URLSearchParams ? body : new URLSearchParams();
        const answer = await authorization.exchange(form);
        if ('error' in answer && answer.error === 'invalid_client') reply.code(401);
        return answer;
      }),
    );
  });
}
