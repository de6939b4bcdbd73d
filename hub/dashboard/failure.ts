import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';

/** Why a page cannot be shown, or something was not done. The message says what to do. */
export type Failure = {
  readonly title: string;
  readonly message: string;
  /** By which `hub/ERRORS.md` has more; undefined where there is no such. */
  readonly code?: string;
};

/** A page in place of the one that was asked for. */
export const failurePage = ({ title, message, code }: Failure): Html =>
  html`${heading(title)}
<p class="notice bad">${message}</p>
${code !== undefined && html`<p class="note">The error is called <code>${code}</code>.</p>`}
<p><a href="${paths.overview}">To the overview</a></p>`;

/** The same in a line, for the page that it happened on. */
export const failureNotice = ({ message }: Failure): Html =>
  html`<p class="notice bad" role="alert">${message}</p>`;
