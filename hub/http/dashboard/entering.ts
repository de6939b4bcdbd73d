import type { FastifyReply, FastifyRequest } from 'fastify';
import { type LoginView, type Visitor, loggedIn, login as loginForm, paths } from '#dashboard';
import { cookieName, loginSeconds } from '../login/cookies.ts';
import type { Entry } from '../login/login.ts';
import type { DashboardAnswers, DashboardNeeds, DashboardOptions } from './needs.ts';
import { type Answering, formOf, queryOf } from './request.ts';

type Needs = Pick<DashboardNeeds, 'login' | 'refusalOf' | 'mayAdminister'> &
  Pick<Answering, 'page'>;

/** Admission and login of the dashboard. */
export type Entering = {
  readonly visitorOf: (request: FastifyRequest) => Visitor;
  /** Answers with the login page if the guard refuses the request and the visitor is not logged in. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
  readonly answers: Pick<DashboardAnswers, 'loginPage' | 'login' | 'logout'>;
};

/** Routes that are public, because they show no data of the hub. */
const openRoutes: readonly (string | undefined)[] = [
  '/dashboard/assets/:file',
  '/dashboard/login',
  '/dashboard/logout',
];

export function createEntering(options: DashboardOptions, needs: Needs): Entering {
  const { login, page, refusalOf, mayAdminister } = needs;
  const isAdministered = options.administration === 'on';
  const hasToken = options.token !== undefined;

  function askToLogIn(
    reply: FastifyReply,
    { to, failed }: Pick<LoginView, 'to' | 'failed'>,
    status = 401,
  ): FastifyReply {
    // For a request of a part: reloads the whole page, which then shows the login.
    reply.header('hx-refresh', 'true');
    const main = loginForm({ to, failed, hasToken, isAdministered });
    return page(reply, { title: 'Log in', main }, status);
  }

  /** Answers a failed login. */
  function refuseEntry(
    reply: FastifyReply,
    entry: Exclude<Entry, { readonly kind: 'in' }>,
    view: { readonly to: string; readonly failed: 'token' | 'link' },
  ): FastifyReply {
    if (entry.kind === 'wrong') return askToLogIn(reply, view);
    reply.header('retry-after', String(Math.ceil(entry.waitMs / 1000)));
    return askToLogIn(reply, { ...view, failed: 'blocked' }, 429);
  }

  return {
    visitorOf(request) {
      const rights = !isAdministered ? 'closed' : mayAdminister(request) ? 'owner' : 'viewer';
      return { rights, isLoggedIn: login.scopeOf(request.headers) !== undefined };
    },
    admit(request, reply) {
      const refusal = refusalOf(request);
      const { url, config } = request.routeOptions;
      if (!refusal || openRoutes.includes(url)) return undefined;
      const isForCalls = config.scope !== 'administer';
      // A login with the token permits reading.
      if (isForCalls && login.scopeOf(request.headers) !== undefined) return undefined;
      const to = request.method === 'GET' ? request.url : paths.overview;
      return askToLogIn(reply, { to, failed: undefined }, refusal.status);
    },
    answers: {
      async loginPage(request, reply) {
        const code = queryOf(request, 'code');
        // A prefetch of the browser must not use up the link.
        const isAhead = request.headers['sec-purpose']?.includes('prefetch') === true;
        if (code === '' || isAhead)
          return askToLogIn(reply, { to: paths.overview, failed: undefined }, isAhead ? 503 : 200);
        const entry = login.enterByLink(code, request.ip);
        if (entry.kind !== 'in')
          return refuseEntry(reply, entry, { to: paths.overview, failed: 'link' });
        setCookie(request, reply, entry.cookie, loginSeconds);
        // No redirect: coming from another site, a browser would follow it without the new cookie (SameSite).
        const leadsTo = paths.overview;
        return page(reply, { title: 'Logged in', main: loggedIn, leadsTo });
      },
      async login(request, reply) {
        const form = formOf(request);
        const to = form.get('to') ?? '';
        const entry = login.enterByToken(form.get('token') ?? '', request.ip);
        if (entry.kind !== 'in') return refuseEntry(reply, entry, { to, failed: 'token' });
        setCookie(request, reply, entry.cookie, loginSeconds);
        return reply.redirect(isOwnPath(to) ? to : paths.overview, 303);
      },
      async logout(request, reply) {
        setCookie(request, reply, '', 0);
        return reply.redirect(paths.overview, 303);
      },
    },
  };
}

function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
  maxAgeSeconds: number,
): void {
  const secure = request.protocol === 'https' ? '; Secure' : '';
  reply.header(
    'set-cookie',
    `${cookieName(request.headers)}=${value}; Max-Age=${maxAgeSeconds}; Path=/dashboard; HttpOnly; SameSite=Strict${secure}`,
  );
}

/** True for a path of the dashboard: a link must not redirect to other sites. */
const isOwnPath = (path: string) => /^\/dashboard(?:[/?][^\\\s]*)?$/.test(path);
