import { type Content, type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { notice } from './pieces.ts';

export type LoginView = {
  /** Path to go to after the login. */
  readonly to: string;
  /** Why the previous login failed. */
  readonly failed: 'token' | 'link' | 'blocked' | undefined;
  /** True if visitors can log in with the hub's token. */
  readonly hasToken: boolean;
  /** False if the hub cannot be administered. A login then only allows viewing. */
  readonly isAdministered: boolean;
};

/** Explains how to log in, and asks for the token if the hub has one. */
export const login = (view: LoginView): Html =>
  html`<div class="login">${heading('Log in')}
${view.failed === 'link' && notice('bad', 'This link was already used, or is older than ten minutes. Get a new one:')}
${view.failed === 'blocked' && notice('bad', 'Too many failed logins from this address. Wait a minute, or use a link:')}
${view.isAdministered ? byLink : html`<p>The administration of this hub is off, so its owner cannot log in.</p>`}
${view.hasToken && byToken(view)}</div>`;

const byLink = html`<p>The owner of this hub logs in with a one-time link. Run this in the folder of the hub:</p>
<pre tabindex="0" role="region" aria-label="Command"><code>npx agenthub open</code></pre>
<p class="note">The hub also prints a link when it starts. In Docker Compose: <code>docker compose logs hub</code></p>`;

const byToken = ({ to, failed }: LoginView): Content =>
  html`<form method="post" action="${paths.login}">
<p>For read-only access, enter the hub's token, the value of <code>ROUTER_TOKEN</code>.</p>
<input type="hidden" name="to" value="${to}">
<p><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus${failed === 'token' && html` aria-invalid="true" aria-describedby="wrong"`}></p>
${failed === 'token' && html`<p id="wrong" class="notice bad" role="alert">That is not the token of this hub.</p>`}
<p><button class="primary">Log in</button></p>
</form>`;

/** Shown until the browser follows the redirect to the dashboard. */
export const loggedIn: Html = html`${heading('Logged in')}
<p><a href="${paths.overview}">To the dashboard</a></p>`;
