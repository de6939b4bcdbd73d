import { Readable } from 'node:stream';
import { accessPages } from './access.ts';
import { actions } from './actions.ts';
import { activityPages } from './activity.ts';
import { agentPages } from './agents.ts';
import { approvalPages } from './approvals.ts';
import { auditPages } from './audit.ts';
import { authorizePages } from './authorize.ts';
import { cachePages } from './caches.ts';
import { upgradePages } from './upgrades.ts';
import { catalogPages } from './catalog.ts';
import { createChanges } from './changes.ts';
import { connectPages } from './connect.ts';
import type {
  DashboardAnswer,
  DashboardNeeds,
  DashboardRequest,
  Download,
  Handlers,
} from './dashboard-types.ts';
import { type Html, textOf } from './html.ts';
import { installPages, jobPages } from './jobs.ts';
import { type Page, layout, loadAssets } from './layout.ts';
import { type LoginOptions, loginPages } from './login.ts';
import { oauthPages } from './oauth.ts';
import { overviewPages } from './overview.ts';
import { paths } from './paths.ts';
import { alert, failed, failurePage } from './pieces.ts';
import { pinPages } from './pins.ts';
import { serverPages } from './server.ts';
import { createServerViews } from './server-view.ts';
import { sessionPages } from './sessions.ts';
import { taskPages } from './tasks.ts';
import { createToolCosts } from './tool-costs.ts';
import { toolPages } from './tool.ts';

/** The loaded dashboard, with the handlers of its routes by name. */
export type Dashboard = Awaited<ReturnType<typeof createDashboard>>;

/**
 * Headers of every answer. Pages load nothing from other sites, contain no inline scripts or styles, cannot be framed
 * by other sites, and send no referrer to them. `no-referrer` would also hide the origin of forms from the hub (Fetch
 * standard, "append a request Origin header").
 */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const htmlHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
} as const;
const assetHeaders = { 'cache-control': 'public, max-age=31536000, immutable' } as const;

/** Loads the assets. Rejects if an asset is missing. */
export async function createDashboard(options: LoginOptions, needs: DashboardNeeds) {
  const { login, ...others } = needs;
  const { hub, system, telemetry } = others;
  const assets = await loadAssets();
  const changes = createChanges({ ...others, ...telemetry, ...hub });
  const views = createServerViews({ ...system, ...telemetry, ...hub }, () => {
    changes.note('health');
    changes.note('server');
  });
  const costs = createToolCosts({
    ...system,
    tools: hub.tools,
    counted() {
      changes.note('health');
      changes.note('offers');
    },
  });
  const given = { ...others, changes, views: { ...views, costs } };
  const activity = activityPages(given);
  const approvals = approvalPages(given);
  const pins = pinPages(given);
  const entering = loginPages(options, login);

  function render(answer: DashboardAnswer, request: DashboardRequest) {
    const { status = 200, headers } = answer;
    const send = (html: Html, more = {}) => ({
      status,
      headers: { ...htmlHeaders, ...headers, ...more },
      body: textOf(html),
    });
    const sendPage = (page: Page) =>
      send(
        layout(
          page,
          request.visitor,
          {
            version: hub.version,
            badges: { approvals: approvals.badgeFor(request), pins: pins.badgeFor(request) },
          },
          assets.urls,
        ),
      );
    if ('page' in answer) return sendPage(answer.page);
    if ('part' in answer) return send(answer.part);
    if ('redirect' in answer)
      return { status: 303, headers: { location: answer.redirect }, body: undefined };
    if ('asset' in answer) {
      const { type, body } = answer.asset;
      return { status, headers: { ...assetHeaders, 'content-type': type }, body };
    }
    if ('download' in answer) return { status, ...downloadOf(answer.download) };
    const { failure } = answer;
    return request.isHtmx
      ? send(alert(failure.message), { 'hx-retarget': '#notice', 'hx-reswap': 'innerHTML' })
      : sendPage({ title: failure.title, main: failurePage(failure) });
  }

  return {
    securityHeaders,
    render,
    /** Returns the login page, in place of a page that the visitor may not see, or of an action. */
    askToLogIn: ({ method, url }: DashboardRequest, status: number) =>
      method === 'GET'
        ? entering.askToLogIn(url, statusOfLogin(url, status))
        : entering.askToLogIn(paths.overview, status, 'form'),
    changes,
    handlers: {
      ...overviewPages(given, activity.recentCalls),
      ...activity.handlers,
      ...serverPages(given),
      ...toolPages(given),
      ...cachePages(given),
      ...connectPages(given),
      ...sessionPages(given),
      ...installPages(given),
      ...catalogPages(given),
      ...upgradePages(given),
      ...jobPages(given),
      ...agentPages(given),
      ...taskPages(given),
      ...approvals.handlers,
      ...pins.handlers,
      ...accessPages(given),
      ...auditPages(given),
      ...oauthPages(given),
      ...authorizePages(given),
      ...actions(given),
      ...entering.handlers,
      async asset(request) {
        const asset = assets.find(request.param('file'));
        return asset ? { asset } : noPage(request);
      },
      async nowhere(request) {
        const [path = '', ...query] = request.url.split('?');
        // Users and browsers may add a slash to a path.
        return path.endsWith('/')
          ? { redirect: [path.slice(0, -1), ...query].join('?') }
          : noPage(request);
      },
    } satisfies Handlers,
  };
}

/**
 * Returns the status of the login page that takes the place of a page. FastMCP requests the page on which a program asks
 * for a login without a cookie, and opens the browser only if that answers with 200 or a redirect.
 */
const statusOfLogin = (url: string, status: number) =>
  status === 401 && url.startsWith(paths.authorize) ? 200 : status;

function downloadOf({ name, content }: Download) {
  const body = Readable.from(content.chunks);
  body.once('close', () => void content[Symbol.asyncDispose]());
  return {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(content.bytes),
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
      'cache-control': 'no-store',
    },
    body,
  };
}

const noPage = ({ url }: DashboardRequest) =>
  failed(404, 'Not found', `${url.slice(0, 200)} is not a page of the dashboard.`);
