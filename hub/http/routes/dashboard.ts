import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKind, HubError, isObject, kindOf } from '#core';
import type {
  Dashboard,
  DashboardAnswer,
  DashboardNeeds,
  DashboardRequest,
  Part,
} from '#dashboard';
import { type RouteAdmission, originOf } from '../admission.ts';
import { type HttpSystem, reportOf, statusOf } from '../errors.ts';
import { type Login, cookieName, loginSeconds } from '../login.ts';
import { dashboardChanges, dashboardTable } from './dashboard-table.ts';
import { createFollowing, hangUpOf } from './events.ts';

type Options = { readonly token: string | undefined; readonly administration: 'on' | 'off' };

type Needs = DashboardNeeds & {
  readonly login: Login;
  readonly admission: Pick<RouteAdmission, 'refusalOf' | 'principalOf' | 'mayAdminister'>;
  readonly system: HttpSystem;
};

const maxFormBytes = 2 ** 20;
/**
 * Limits of the event streams of pages, which reload changed parts after each event. Pages above the limit poll every
 * ten seconds.
 */
const followed = {
  intervalMs: 1_000,
  maxStreams: 100,
  full: '100 pages of the dashboard are open already: close some',
} as const;

/** Routes without authentication, because they show no data of the hub, or belong to the login. */
const openRoutes = new Set<string | undefined>([
  '/dashboard/assets/:file',
  '/dashboard/login',
  '/dashboard/logout',
  '/dashboard/oauth/callback',
]);

/** Adds `/dashboard` (spec 1.10). The pages are loaded with the first request. */
export function dashboardRoutes(app: FastifyInstance, options: Options, needs: Needs): void {
  const { admission, login } = needs;
  const { clock } = needs.system;
  const follow = createFollowing(clock, followed);
  const begun = new WeakMap<FastifyRequest, number>();
  let loading: Promise<Dashboard> | undefined;
  const load = () =>
    (loading ??= import('#dashboard').then(({ createDashboard }) =>
      createDashboard(options, needs),
    ));

  function requestOf(request: FastifyRequest, reply: FastifyReply): DashboardRequest {
    const { method, url, headers, ip, params, query, body } = request;
    const rights = admission.mayAdminister(request) ? 'owner' : 'viewer';
    return {
      method,
      url,
      headers,
      address: ip,
      endpoint: `${originOf(request)}/mcp`,
      isHtmx: headers['hx-request'] === 'true',
      param: name => textAt(params, name),
      query: name => textAt(query, name),
      form: body instanceof URLSearchParams ? body : new URLSearchParams(),
      visitor: {
        rights: options.administration === 'on' ? rights : 'closed',
        isLoggedIn: login.scopeOf(headers) !== undefined,
      },
      principal: () => admission.principalOf(request),
      signal: hangUpOf(reply),
    };
  }

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    answerOf: (asked: DashboardRequest, dashboard: Dashboard) => Promise<DashboardAnswer>,
  ): Promise<FastifyReply> {
    const dashboard = await load();
    const asked = requestOf(request, reply);
    const answer = await answerOf(asked, dashboard);
    const { status, headers, body } = dashboard.render(answer, asked);
    if (answer.cookie !== undefined) reply.header('set-cookie', setCookie(request, answer.cookie));
    if (typeof body === 'string') {
      const tookMs = clock.monotonic() - (begun.get(request) ?? clock.monotonic());
      reply.header('server-timing', `app;dur=${tookMs.toFixed(1)}`);
    }
    return await reply.code(status).headers(headers).send(body);
  }

  void app.register(async scope => {
    scope.removeAllContentTypeParsers();
    // Parses HTML forms, which no other route accepts except `/oauth/token`.
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      // Replaces CRLF by LF, because browsers send each line break of a text as CRLF.
      (_request, body, done) =>
        done(null, new URLSearchParams(String(body).replaceAll(/%0D%0A/gi, '%0A'))),
    );
    scope.addHook('onRequest', async (request, reply) => {
      const { securityHeaders } = await load();
      begun.set(request, clock.monotonic());
      for (const [name, value] of Object.entries(securityHeaders)) reply.raw.setHeader(name, value);
      const refusal = admission.refusalOf(request);
      const { url, config } = request.routeOptions;
      if (!refusal || openRoutes.has(url)) return undefined;
      // A login with the token permits only reading.
      const isReading = config.scope !== 'administer';
      if (isReading && login.scopeOf(request.headers) !== undefined) return undefined;
      return await send(request, reply, async (asked, { askToLogIn }) =>
        askToLogIn(asked, refusal.status),
      );
    });
    scope.setErrorHandler(
      async (error, request, reply) =>
        await send(request, reply, async () => failureOf(error, request.url, needs)),
    );
    for (const [method, url, name, needed] of dashboardTable) {
      const change = dashboardChanges.get(name);
      scope.route({
        method,
        url,
        config: { scope: needed, ...(change && { change }) },
        handler: async (request, reply) =>
          await send(request, reply, (asked, { handlers }) => handlers[name](asked)),
      });
    }
    scope.get('/dashboard/events', { config: { scope: 'call' } }, async (request, reply) => {
      const { changes } = await load();
      const changed = new Set<Part>();
      return follow(reply, {
        listen: due =>
          changes.listen(textAt(request.query, 'server') || undefined, part => {
            changed.add(part);
            due();
          }),
        tell(events) {
          for (const part of changed) events.send(part, {});
          changed.clear();
        },
      });
    });
  });
}

function textAt(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === 'string' ? text : '';
}

/** Returns the header that sets a login cookie; an empty value removes the cookie. */
function setCookie(request: FastifyRequest, value: string): string {
  const maxAge = value === '' ? 0 : loginSeconds;
  const secure = originOf(request).startsWith('https:') ? '; Secure' : '';
  return `${cookieName(request.headers)}=${value}; Max-Age=${maxAge}; Path=/dashboard; HttpOnly; SameSite=Strict${secure}`;
}

const titles: Readonly<Record<ErrorKind, string>> = {
  invalid: 'Invalid request',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  conflict: 'Not possible now',
  too_large: 'Too large',
  overloaded: 'Too many requests',
  unavailable: 'Not available',
  timeout: 'Timeout',
  cancelled: 'Cancelled',
  internal: 'Internal error',
};

function failureOf(error: unknown, url: string, { telemetry, system }: Needs) {
  const failed = (kind: ErrorKind, status: number, message: string, code?: string) => ({
    status,
    failure: { title: titles[kind], message, ...(code !== undefined && { code }) },
  });
  if (error instanceof HubError)
    return failed(kindOf(error), statusOf(error), telemetry.redact(error.message), error.code);
  // Fastify's refusals, such as a form that is too large.
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  const tooLarge = `The form is larger than the hub takes: ${maxFormBytes} bytes.`;
  if (status === 413) return failed('too_large', status, tooLarge);
  if (error instanceof Error && typeof status === 'number' && status < 500)
    return failed('invalid', status, `The request is invalid: ${error.message}`);
  const { message } = reportOf(error, url, system).error;
  return failed('internal', 500, message, 'HUB_INTERNAL');
}
