import type { FastifyInstance } from 'fastify';
import { messageOf } from '#core';
import type { LoginStatus, ServerLogins } from '#oauth';
import { describeServer, restartNow } from '#servers';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { changing } from './audit.ts';
import { hangUpOf } from './events.ts';
import { type Named, refuseBody, timeOf } from './input.ts';

type Needs = Pick<HttpNeeds, 'servers' | 'system'> & { readonly logins: ServerLogins };

/** Adds `/servers/{name}/login` and `/servers/{name}/logout`: logins to remote servers. They never return a token. */
export function loginRoutes(app: FastifyInstance, { servers, logins, system }: Needs): void {
  app.get<Named>('/servers/:name/login', administered, async request => {
    const { name } = servers.get(request.params.name).config;
    return { name, ...describeLogin(await logins.status(name)) };
  });

  app.post<Named>('/servers/:name/login', changing('oauth_login_begun'), async (request, reply) => {
    const { name } = servers.get(request.params.name).config;
    refuseBody(request.body, 'POST /servers/{name}/login');
    const { url, expiresInMs } = await logins.begin(name);
    const body = { name, url, expires_in_seconds: expiresInMs / 1000 };
    return await reply.code(201).header('cache-control', 'no-store').send(body);
  });

  // Answers when the browser has returned from the login page.
  app.get<Named>('/servers/:name/login/done', administered, async (request, reply) => {
    const server = servers.get(request.params.name);
    const { name } = server.config;
    await logins.done(name, hangUpOf(reply));
    return { name, ...describeLogin(await logins.status(name)) };
  });

  app.post<Named>('/servers/:name/logout', changing('oauth_logout'), async request => {
    const server = servers.get(request.params.name);
    const { name } = server.config;
    refuseBody(request.body, 'POST /servers/{name}/logout');
    const { wasLoggedIn, isRevoked } = await logins.logout(name);
    // The connection of the server still has the access of the login.
    if (wasLoggedIn && server.running)
      await restartNow(server).catch((error: unknown) =>
        system.log.debug(
          { server: name, error: messageOf(error) },
          'the server did not restart after its logout',
        ),
      );
    return { ...describeServer(server), was_logged_in: wasLoggedIn, revoked: isRevoked };
  });
}

/** Formats the state of a login for the REST API. JSON omits undefined values. */
const describeLogin = (status: LoginStatus) => ({
  login: status.state,
  pending: status.isPending,
  issuer: status.issuer,
  scope: status.scope,
  missing_scope: status.missingScope,
  expires_at: status.expiresAt === undefined ? undefined : timeOf(status.expiresAt),
  refreshable: status.isRefreshable,
});
