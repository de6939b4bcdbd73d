import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';

export type LoginView = {
  /** Where to go from there. */
  readonly to: string;
  readonly wasWrong: boolean;
};

/** Asks for the token of the hub. */
export const login = ({ to, wasWrong }: LoginView): Html =>
  html`<div class="login">${heading('Log in')}
<p>This hub asks for its token: the value of <code>ROUTER_TOKEN</code>.</p>
<form method="post" action="${paths.login}">
<input type="hidden" name="to" value="${to}">
<p><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus${wasWrong && html` aria-invalid="true" aria-describedby="wrong"`}></p>
${wasWrong && html`<p id="wrong" class="notice bad" role="alert">That is not the token of this hub.</p>`}
<p><button class="primary">Log in</button></p>
</form></div>`;
