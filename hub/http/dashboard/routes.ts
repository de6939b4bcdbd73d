import type { FastifyInstance } from 'fastify';
import type { createDashboard } from './answers.ts';
import { type DashboardNeeds, type DashboardOptions, maxFormBytes, routes } from './needs.ts';

/** True for paths whose access the dashboard checks itself, because it has a login page. */
export const isOfDashboard = (url: string): boolean => /^\/dashboard([/?]|$)/.test(url);

/** `/dashboard` (spec 1.10). The pages are loaded with the first request. */
export function dashboardRoutes(
  app: FastifyInstance,
  options: DashboardOptions,
  needs: DashboardNeeds,
): void {
  let loading: ReturnType<typeof createDashboard> | undefined;
  const load = async () => {
    loading ??= import('./answers.ts').then(
      async ({ createDashboard: create }) => await create(options, needs),
    );
    return await loading;
  };
  void app.register(async scope => {
    scope.removeAllContentTypeParsers();
    // The hub accepts forms only here.
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    scope.addHook(
      'onRequest',
      async (request, reply) => await (await load()).enter(request, reply),
    );
    scope.setErrorHandler(
      async (error, request, reply) => await (await load()).fail(error, request, reply),
    );
    for (const [method, url, name, needed] of routes)
      scope.route({
        method,
        url,
        config: { scope: needed },
        handler: async (request, reply) => await (await load()).answers[name](request, reply),
      });
  });
}
