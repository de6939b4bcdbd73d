import type { FastifyInstance } from 'fastify';
import type { Login } from '../login/login.ts';
import { administered } from './administered.ts';
import { refuseBody } from './bodies.ts';

/** `POST /login-link`: a link that logs a browser in to the dashboard once. */
export function loginLinkRoutes(
  app: FastifyInstance,
  { login }: { readonly login: Pick<Login, 'createLink'> },
): void {
  app.post('/login-link', administered, async (request, reply) => {
    refuseBody(request.body, 'POST /login-link');
    const { path, lastsMs } = login.createLink();
    return await reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ path, expires_in_seconds: lastsMs / 1000 });
  });
}
