import type { LoginStatus, ServerLogins } from '#oauth';
import { restartNow } from '#servers';
import { answerOf } from './actions.ts';
import type { Handlers, PageNeeds } from './dashboard-types.ts';
import { duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { actionButton, badge, empty, facts, failed, heading, serverLink, table } from './pieces.ts';
import type { ServerView } from './server-view.ts';

/** Creates the handlers of logins to remote servers: begin, return from the authorization server, and logout. */
export function oauthPages({ servers, hub: { logins }, system }: PageNeeds) {
  return {
    async beginOAuthLogin({ param }) {
      const { name } = servers.get(param('name')).config;
      if (!logins) return noLogins;
      const { url } = await logins.begin(name);
      const main = html`${heading(`Log in to ${name}`)}
<p>Your browser goes to <code>${new URL(url).origin}</code>, and returns here.</p>
<p><a class="button primary" id="go" href="${url}">Go on</a></p>`;
      return { page: { title: `Log in to ${name}`, at: 'overview', main, leadsTo: url } };
    },
    // Needs no login to the dashboard: the redirect comes from another site, without the dashboard's cookie.
    async finishOAuthLogin({ url }) {
      if (!logins) return noLogins;
      const name = await logins.finish(new URLSearchParams(url.split('?')[1]));
      const main = html`${heading(`Logged in to ${name}`)}
<p>The hub has its tokens. You can close this page, or go to <a href="${paths.server(name)}">${name}</a>.</p>`;
      return { page: { title: `Logged in to ${name}`, main } };
    },
    async oauthLogout(request) {
      const server = servers.get(request.param('name'));
      const { name } = server.config;
      if (!logins) return noLogins;
      const { wasLoggedIn } = await logins.logout(name);
      if (wasLoggedIn && server.running)
        restartNow(server).catch(() =>
          system.log.debug({ server: name }, 'the server did not restart after its logout'),
        );
      return answerOf(request, { done: 'oauth-logout', about: name, page: paths.server(name) });
    },
  } satisfies Handlers;
}

const noLogins = failed(409, 'No logins', 'This hub logs in to no servers.');

const loginButton = (name: string, label: string) =>
  html`<form method="post" action="${paths.action('oauth-login', name)}"><button class="primary" id="oauth-login-${name}" aria-label="${label} to ${name}">${label}</button></form>`;

const logoutButton = (name: string) =>
  actionButton({
    label: 'Log out',
    about: `of ${name}`,
    path: paths.action('oauth-logout', name),
    id: `oauth-logout-${name}`,
  });

/** Shows the hub's login to a server on the server's page. */
export function oauthPart({ name, state }: ServerView, login: LoginStatus, now: number): Content {
  if (login.state === 'none')
    return (
      state === 'needs_login' &&
      html`<div class="actions">${loginButton(name, loginLabel(login))}</div>`
    );
  const { issuer, scope, missingScope } = login;
  return html`${facts([
    [
      'Login',
      html`${badge('good', 'logged in')} <span class="note">${expiryOf(login, now)}</span>`,
    ],
    ['At', issuer],
    ['Scopes', scope],
    ['Lacks', missingScope],
  ])}<div class="actions">${loginButton(name, loginLabel(login))}${logoutButton(name)}</div>`;
}

function loginLabel({ state, missingScope }: LoginStatus): string {
  if (state === 'none') return 'Log in';
  return missingScope === undefined ? 'Log in again' : 'Log in with more access';
}

/** Says when the access to the server ends. */
function expiryOf({ expiresAt, isRefreshable }: LoginStatus, now: number): string {
  const renewed = isRefreshable === true ? ', then renewed' : '';
  if (expiresAt === undefined) return 'no expiry';
  return expiresAt <= now
    ? `expired${isRefreshable === true ? ', renewed by the next call' : ''}`
    : `valid for ${duration(expiresAt - now)}${renewed}`;
}

export type LoginsShown = {
  readonly servers: {
    readonly all: readonly {
      readonly config: { readonly name: string; readonly launch: { readonly kind: string } };
      readonly status: { readonly state: string };
    }[];
  };
  readonly logins: Pick<ServerLogins, 'status'>;
};

/** Shows all logins to servers on the access page. */
export async function loginsPart({ servers, logins }: LoginsShown, now: number): Promise<Html> {
  const remote = servers.all.filter(({ config }) => config.launch.kind === 'remote');
  const rows = await Promise.all(
    remote.map(async ({ config: { name }, status: { state } }) => ({
      name,
      state,
      login: await logins.status(name),
    })),
  );
  const shown = rows.filter(
    ({ login, state }) => login.state !== 'none' || state === 'needs_login',
  );
  if (shown.length === 0) return empty('No remote server needs a login.');
  return table('Logins to servers', shown, [
    ['Server', ({ name }) => serverLink(name, `login-of-${name}`)],
    [
      'Login',
      ({ login }) =>
        login.state === 'none' ? badge('warn', 'needs login') : badge('good', 'logged in'),
    ],
    ['Expiry', ({ login }) => login.state !== 'none' && expiryOf(login, now)],
    ['At', ({ login }) => login.issuer],
    ['Scopes', ({ login }) => login.scope],
    [
      'Action',
      ({ name, login }) =>
        html`<div class="actions">${loginButton(name, loginLabel(login))}${login.state !== 'none' && logoutButton(name)}</div>`,
    ],
  ]);
}
