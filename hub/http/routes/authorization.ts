import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Log } from '#core';
import {
  type HubAuthorization,
  authorizationPaths as paths,
  endpointPathOf,
  resourceMetadata,
  serverMetadata,
} from '#access';
import { originOf } from '../admission.ts';
import { createThrottle } from '../login.ts';

type Needs = {
  readonly authorization: Pick<HubAuthorization, 'register' | 'exchange'>;
  readonly offersLogins: () => boolean;
  readonly system: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log };
};

const maxBodyBytes = 16 * 1024;
const publicly = { config: { scope: 'public' }, bodyLimit: maxBodyBytes } as const;

/**
 * Adds the routes for logins of programs to the hub: metadata (RFC 9728, RFC 8414), registration (RFC 7591) and the
 * exchange of codes. They need no credentials, store nothing but exchanged tokens, and answer 404 while calls need no
 * token. Addresses that send wrong codes must wait, as for wrong tokens; the right code is always exchanged.
 */
export function authorizationRoutes(app: FastifyInstance, needs: Needs): void {
  const { authorization, offersLogins } = needs;
  const throttle = createThrottle(needs.system, 'a wrong code of a login was refused');

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
        if (endpoint === undefined || (path.length > 1 && endpoint !== path)) {
          void reply.code(404);
          return { error: 'invalid_target', error_description: 'no MCP endpoint' };
        }
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
      offered(async ({ body, ip }, reply) => {
        const form = body instanceof URLSearchParams ? body : new URLSearchParams();
        const answer = await authorization.exchange(form);
        if (!('error' in answer)) return answer;
        if (answer.error === 'invalid_client') reply.code(401);
        if (answer.error !== 'invalid_grant') return answer;
        const waitMs = throttle.waitMs(ip);
        throttle.failed(ip, 'code');
        if (waitMs > 0) reply.code(429).header('retry-after', String(Math.ceil(waitMs / 1000)));
        return answer;
      }),
    );
  });
}
