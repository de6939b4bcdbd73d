import { type Content, type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { notice } from './pieces.ts';

export type LoginView = {
  /** Where to go from there. */
  readonly to: string;
  /** Why the login before this one failed. */
  readonly failed: 'token' | 'link' | 'blocked' | undefined;
  /** Whether a token of the hub lets people look. */
  readonly hasToken: boolean;
  /** False: nobody administers this hub, and a login is for looking only. */
  readonly isAdministered: boolean;
};

/** Says how to log in, and asks for the token of a hub that has one. */
export const login = (view: LoginView): Html =>
  html`<div class="login">${heading('Log in')}
${view.failed === 'link' && notice('bad', 'This link was used before, or is older than ten minutes. Get a new one:')}
${view.failed === 'blocked' && notice('bad', 'Too many logins failed from this address. Wait a minute, or use a link:')}
${view.isAdministered ? byLink : html`<p>The administration of this hub is off: there is no login for its owner.</p>`}
${view.hasToken && byToken(view)}</div>`;

const byLink = html`<p>The owner of this hub logs in with a link that works once. Run this in the folder of the hub:</p>
<pre tabindex="0" role="region" aria-label="Command"><code>npx agenthub open</code></pre>
<p class="note">The hub also prints a link when it starts. In Docker Compose: <code>docker compose logs hub</code></p>`;

const byToken = ({ to, failed }: LoginView): Content =>
  html`<form method="post" action="${paths.login}">
<p>To look without changing anything, give the hub's token: the value of <code>ROUTER_TOKEN</code>.</p>
<input type="hidden" name="to" value="${to}">
<p><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus${failed === 'token' && html` aria-invalid="true" aria-describedby="wrong"`}></p>
${failed === 'token' && html`<p id="wrong" class="notice bad" role="alert">That is not the token of this hub.</p>`}
<p><button class="primary">Log in</button></p>
</form>`;

/** Shown for a moment, until the browser follows to the dashboard. */
export const loggedIn: Html = html`${heading('Logged in')}
<p><a href="${paths.overview}">To the dashboard</a></p>`;
