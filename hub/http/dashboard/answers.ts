import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKind, HubError, kindOf } from '#core';
import {
  type Failure,
  type Frame,
  type Html,
  failureNotice,
  failurePage,
  layout,
  loadAssets,
  textOf,
} from '#dashboard';
import { bugOf, statusOf } from '../errors.ts';
import { actions } from './actions.ts';
import { cachePages } from './cache-pages.ts';
import { createChanges } from './changes.ts';
import type { Given } from './given.ts';
import { installPages } from './install-pages.ts';
import { jobPages } from './job-pages.ts';
import { createInstallForms } from './install-forms.ts';
import { createEntering } from './entering.ts';
import { pages } from './pages.ts';
import { createServerViews } from './server-views.ts';
import { serverPages } from './server-pages.ts';
import { createUsageViews } from './usage-views.ts';
import {
  type DashboardAnswers,
  type DashboardNeeds,
  type DashboardOptions,
  maxFormBytes,
} from './needs.ts';
import { type Answering, isHtmx, paramOf, queryOf, textAt } from './request.ts';

/** The loaded dashboard. */
export type Dashboard = {
  readonly answers: DashboardAnswers;
  /** Answers a request that is not admitted. Called before each route. */
  enter(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined>;
  /** Answers with an error page, or a notice for htmx. */
  fail(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
};

/**
 * Pages load nothing from other sites, contain no inline scripts or styles, cannot be framed by other sites, and send them
 * no referrer. `no-referrer` would also hide the origin of forms from the hub (Fetch standard, "append a request Origin
 * header").
 */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Loads the assets. Rejects if one is missing. */
export async function createDashboard(
  options: DashboardOptions,
  needs: DashboardNeeds,
): Promise<Dashboard> {
  const { clock } = needs;
  const assets = await loadAssets();
  const frame: Frame = { assets: assets.urls, hubVersion: needs.hubVersion };
  const changes = createChanges(needs);
  const usage = createUsageViews(needs, () => {
    changes.note('health');
    changes.note('server');
  });
  const { installs, installJobs } = needs;
  const forms = installs && installJobs && createInstallForms({ installs, installJobs });
  const begun = new WeakMap<FastifyRequest, number>();

  const send = (reply: FastifyReply, body: Html, status = 200) => {
    const tookMs = clock.monotonic() - (begun.get(reply.request) ?? clock.monotonic());
    return reply
      .code(status)
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'server-timing': `app;dur=${tookMs.toFixed(1)}`,
      })
      .send(textOf(body));
  };
  const answering: Answering = {
    frame,
    visitorOf: request => entering.visitorOf(request),
    page: (reply, page, status) =>
      send(reply, layout(page, frame, entering.visitorOf(reply.request)), status),
    part: (reply, part) => send(reply, part),
    refuse: (request, reply, status, failure) => {
      if (!isHtmx(request))
        return answering.page(reply, { title: failure.title, main: failurePage(failure) }, status);
      reply.headers({ 'hx-retarget': '#notice', 'hx-reswap': 'innerHTML' });
      return send(reply, failureNotice(failure), status);
    },
  };
  const entering = createEntering(options, { ...needs, ...answering });
  const given: Given = {
    ...needs,
    ...answering,
    changes,
    usage,
    forms,
    views: createServerViews({ ...needs, usageOf: usage.of }),
  };

  return {
    async fail(error, request, reply) {
      const { status, failure } = failureOf(error, request.url, needs);
      return answering.refuse(request, reply, status, failure);
    },
    async enter(request, reply) {
      begun.set(request, clock.monotonic());
      for (const [name, value] of Object.entries(headers)) reply.raw.setHeader(name, value);
      return entering.admit(request, reply);
    },
    answers: {
      ...pages(given),
      ...serverPages(given),
      ...cachePages(given),
      ...installPages(given),
      ...jobPages(given),
      ...actions(given),
      ...entering.answers,
      async asset(request, reply) {
        const asset = assets.find(paramOf(request, 'file'));
        if (!asset) return answering.refuse(request, reply, 404, noPage(request));
        return reply
          .headers({
            'content-type': asset.type,
            'cache-control': 'public, max-age=31536000, immutable',
          })
          .send(asset.body);
      },
      async events(request, reply) {
        return changes.open(reply, queryOf(request, 'server') || undefined);
      },
      nowhere: async (request, reply) => answering.refuse(request, reply, 404, noPage(request)),
    },
  };
}

const noPage = ({ url }: FastifyRequest): Failure => ({
  title: 'Not found',
  message: `${url.slice(0, 200)} is not a page of the dashboard.`,
});

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

function failureOf(
  error: unknown,
  url: string,
  needs: DashboardNeeds,
): { readonly status: number; readonly failure: Failure } {
  if (error instanceof HubError)
    return {
      status: statusOf(error),
      failure: {
        title: titles[kindOf(error)],
        message: needs.redact(error.message),
        code: error.code,
      },
    };
  // Refusals of Fastify, such as a form that is too large.
  if (
    error instanceof Error &&
    'statusCode' in error &&
    typeof error.statusCode === 'number' &&
    error.statusCode < 500
  )
    return {
      status: error.statusCode,
      failure:
        error.statusCode === 413
          ? {
              title: titles.too_large,
              message: `The form is larger than the hub takes: ${maxFormBytes} bytes.`,
            }
          : { title: titles.invalid, message: `The request is invalid: ${error.message}` },
    };
  return {
    status: 500,
    failure: {
      title: titles.internal,
      message: textAt(bugOf(error, url, needs)['error'], 'message'),
      code: 'HUB_INTERNAL',
    },
  };
}
