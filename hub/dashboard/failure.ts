import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';

/** Why a page cannot be shown or an action failed. The message says what to do. */
export type Failure = {
  readonly title: string;
  readonly message: string;
  /** Code in `hub/ERRORS.md`; undefined if there is none. */
  readonly code?: string;
};

/** Error page, shown instead of the requested page. */
export const failurePage = ({ title, message, code }: Failure): Html =>
  html`${heading(title)}
<p class="notice bad">${message}</p>
${code !== undefined && html`<p class="note">Error code: <code>${code}</code></p>`}
<p><a href="${paths.overview}">To the overview</a></p>`;

/** The same as one line, shown on the page where the error happened. */
export const failureNotice = ({ message }: Failure): Html =>
  html`<p class="notice bad" role="alert">${message}</p>`;
