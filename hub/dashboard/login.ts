import type { DashboardAnswer, Handlers, LoginResult, Logins } from './dashboard-types.ts';
import { type Content, html } from './html.ts';
import { paths } from './paths.ts';
import { heading, notice } from './pieces.ts';

export type LoginOptions = {
  /** Token for read access; undefined if none is set. */
  readonly token: string | undefined;
  readonly administration: 'on' | 'off';
};

type Failed = 'token' | 'link' | 'blocked' | 'form';

/** Creates the login page, and the handlers that log visitors in and out. */
export function loginPages(options: LoginOptions, login: Logins) {
  /**
   * Returns the page that explains how to log in, and asks for the token if the hub has one. `to` is the path after the
   * login.
   */
  function askToLogIn(to: string, status: number, failed?: Failed): DashboardAnswer {
    const main = html`<div class="login">${heading('Log in')}
${failed === 'link' && notice('bad', 'This link was already used, or is older than ten minutes. Get a new one:')}
${failed === 'form' && notice('bad', 'Your form was not accepted, because you are not logged in. Log in, and start again where you were.')}
${failed === 'blocked' && notice('bad', 'Too many failed logins from this address. Wait a minute, or use a link:')}
${to.startsWith(paths.authorize) && html`<p>A program wants to be let in to this hub. Only its owner can decide. <a id="go-on" href="${to}">Go on when you are logged in</a></p>`}
${options.administration === 'on' ? byLink : html`<p>The administration of this hub is off, so its owner cannot log in.</p>`}
${options.token !== undefined && byToken(to, failed)}</div>`;
    // If htmx requested a part, reload the whole page, which then shows the login.
    return { page: { title: 'Log in', main }, status, headers: { 'hx-refresh': 'true' } };
  }

  function enter(result: LoginResult, entered: DashboardAnswer, to: string, failed: Failed) {
    if (result.kind === 'in') return { ...entered, cookie: result.cookie };
    if (result.kind === 'wrong') return askToLogIn(to, 401, failed);
    const { headers, ...answer } = askToLogIn(to, 429, 'blocked');
    const retryAfter = String(Math.ceil(result.waitMs / 1000));
    return { ...answer, headers: { ...headers, 'retry-after': retryAfter } };
  }

  return {
    askToLogIn,
    handlers: {
      async loginPage({ query, headers, address }) {
        const code = query('code');
        // A prefetch by the browser must not use up the one-time link.
        const isAhead = headers['sec-purpose']?.includes('prefetch') === true;
        if (code === '' || isAhead) return askToLogIn(paths.overview, isAhead ? 503 : 200);
        // Do not redirect: a browser that comes from another site would follow without the new cookie (SameSite).
        const main = html`${heading('Logged in')}
<p><a href="${paths.overview}">To the dashboard</a></p>`;
        const page = { title: 'Logged in', main, leadsTo: paths.overview };
        return enter(login.enterByLink(code, address), { page }, paths.overview, 'link');
      },
      async login({ form, address }) {
        const to = form.get('to') ?? '';
        const result = login.enterByToken(form.get('token') ?? '', address);
        return enter(result, { redirect: isOwnPath(to) ? to : paths.overview }, to, 'token');
      },
      logout: async () => ({ redirect: paths.overview, cookie: '' }),
    } satisfies Handlers,
  };
}

/** True for a path of the dashboard, since a link must not redirect to other sites. */
const isOwnPath = (path: string) => /^\/dashboard(?:[/?][^\\\s]*)?$/.test(path);

const byLink = html`<p>The owner of this hub logs in with a one-time link. Run this in the folder of the hub:</p>
<pre tabindex="0" role="region" aria-label="Command"><code>npx agenthub open</code></pre>
<p class="note">The hub also prints a link when it starts. In Docker Compose: <code>docker compose logs hub</code></p>`;

const byToken = (to: string, failed: Failed | undefined): Content =>
  html`<form method="post" action="${paths.login}">
<p>For read-only access, enter the hub's token, the value of <code>ROUTER_TOKEN</code>.</p>
<input type="hidden" name="to" value="${to}">
<p><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus${failed === 'token' && html` aria-invalid="true" aria-describedby="wrong"`}></p>
${failed === 'token' && html`<p id="wrong" class="notice bad" role="alert">That is not the token of this hub.</p>`}
<p><button class="primary">Log in</button></p>
</form>`;
