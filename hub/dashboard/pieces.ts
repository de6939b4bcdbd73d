import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';

/** Colour of a status. It always accompanies text and never replaces it. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

export const badge = (tone: Tone, text: Content): Html =>
  html`<span class="badge ${tone}">${text}</span>`;

/** Indicator shown while a form waits for its response. Screen readers announce the indicator too. */
export const atWork: Html = html`<span role="status"><span class="at-work">${badge('busy', 'Working…')}</span></span>`;

/** Returns the text that a page shows in place of an empty list. */
export const empty = (title: string, ...more: readonly Content[]): Html =>
  html`<div class="empty"><p class="lead">${title}</p>${more}</div>`;

/** Says how to connect a client, where there is none yet. */
export const connectHint = (endpoint: string): Html =>
  html`<p><a id="connect-first" href="${paths.connect}">Connect a client</a>, or use the URL <code>${endpoint}</code></p>`;

export const heading = (title: Content, ...beside: readonly Content[]): Html =>
  html`<div class="heading"><h1>${title}</h1>${beside}</div>`;

export const notice = (tone: 'good' | 'bad', ...text: readonly Content[]): Html =>
  html`<p class="notice ${tone}">${text}</p>`;

/** Returns a notice that screen readers announce at once. */
export const alert = (text: string): Html => html`<p class="notice bad" role="alert">${text}</p>`;

/** Why a page cannot be shown or an action failed. The message contains the remedy. */
export type FailedAction = {
  readonly title: string;
  readonly message: string;
  /** Error code in `hub/ERRORS.md`; undefined if there is none. */
  readonly code?: string;
};

export const failed = (status: number, title: string, message: string) => ({
  status,
  failure: { title, message },
});

export const failurePage = ({ title, message, code }: FailedAction): Html =>
  html`${heading(title)}
<p class="notice bad">${message}</p>
${code !== undefined && html`<p class="note">Error code: <code>${code}</code></p>`}
<p><a href="${paths.overview}">To the overview</a></p>`;

/**
 * Rights of a visitor: `owner`; `viewer`, who may log in as the owner; `closed`, if the hub cannot be administered.
 */
export type Rights = 'owner' | 'viewer' | 'closed';

/** Returns the link that a page shows to viewers in place of actions that only the owner may use. */
export const loginLink = (rights: Rights, text: string, id: string): Content =>
  rights === 'viewer' && html`<a class="button" id="${id}" href="${paths.login}">${text}</a>`;

/** Returns the note that a page shows in place of content that only the owner may see. */
export const ownersOnly = (rights: Rights, what: string): Html =>
  rights === 'viewer'
    ? html`<p class="note">${what} is shown only to the owner of the hub: <a href="${paths.login}">log in</a>.</p>`
    : html`<p class="note">${what} is not shown: the administration of this hub is off.</p>`;

/**
 * Returns a badge with the number of waiting decisions, beside a link of the navigation. It reloads itself, and is
 * empty without decisions.
 */
export const countBadge = ({
  id,
  path,
  event,
  waiting,
}: Readonly<Record<'id' | 'path' | 'event', string>> & { readonly waiting: number }): Html =>
  html`<span id="${id}" hx-get="${path}" hx-trigger="${event} from:body, every 10s" hx-swap="outerHTML">${
    waiting > 0 && html` ${badge('warn', html`${waiting}<span class="unseen"> waiting</span>`)}`
  }</span>`;

/**
 * Returns a part of a page that reloads itself from the URL `from` on `events` (default: its id), and every ten
 * seconds.
 */
export const fragment = (
  id: string,
  from: string,
  content: Content,
  ...events: readonly string[]
): Html =>
  html`<div id="${id}" hx-get="${from}" hx-trigger="${(events.length > 0 ? events : [id]).map(event => `${event} from:body`).join(', ')}, every 10s" hx-swap="outerHTML">
${content}
</div>`;

type ButtonAction = Readonly<Record<'label' | 'path' | 'id', string>> & {
  /** Object of the action, for screen readers. */
  readonly about?: string;
  readonly tone?: 'danger';
  /** True if the action is not possible now. Its button is shown disabled. */
  readonly isDisabled?: boolean;
};

/**
 * Returns a button in a form of its own, which works without JavaScript. Its id keeps the focus when the page is
 * updated.
 */
export function actionButton(action: ButtonAction): Html {
  const { label, path, id, about, tone, isDisabled = false } = action;
  const attributes = [
    about !== undefined && html` aria-label="${label} ${about}"`,
    isDisabled && html` disabled`,
  ];
  return html`<form method="post" action="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop"><button id="${id}" class="${tone}"${attributes}>${label}</button></form>`;
}

export function facts(rows: readonly (readonly [name: string, value: Content])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

type Column<Row> = readonly [title: string, cell: (row: Row) => Content, kind?: 'number'];

/**
 * Returns a table, whose first column names the rows. On a narrow screen each row becomes a card that labels its values
 * with the column names. Rows of a `dense` table have one line. Sets ARIA roles, because browsers drop table semantics
 * when CSS changes the display type.
 */
export function table<Row>(
  caption: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  density?: 'dense',
): Html {
  const numeric = (kind: 'number' | undefined) => kind && html` class="number"`;
  const head = columns.map(
    ([title, , kind]) =>
      html`<th role="columnheader" scope="col"${density && html` data-title="${title}"`}${numeric(kind)}>${title}</th>`,
  );
  const cellOf = ([title, cell, kind]: Column<Row>, at: number, row: Row) =>
    at === 0
      ? html`<th role="rowheader" scope="row"${numeric(kind)}>${cell(row)}</th>`
      : html`<td role="cell" data-title="${title}"${numeric(kind)}>${cell(row)}</td>`;
  return html`<table role="table"${density && html` class="${density}"`}><caption class="unseen">${caption}</caption><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">
${rows.map(
  row => html`<tr role="row">${columns.map((column, at) => cellOf(column, at, row))}</tr>
`,
)}</tbody></table>`;
}

/** Returns a link to a server's page. In parts that are updated it needs an id to keep the focus. */
export const serverLink = (name: string, id?: string): Html =>
  html`<a href="${paths.server(name)}"${id !== undefined && html` id="${id}"`}>${name}</a>`;

/** Returns an identifier that may wrap between its words. */
export const breakable = (code: string): Html =>
  html`<span>${code.split(/(?<=_)/).map((word, at) => html`${at > 0 && html`<wbr>`}${word}`)}</span>`;

export const optionsOf = (choices: readonly string[], chosen: string): readonly Html[] =>
  choices.map(choice => html`<option${choice === chosen && html` selected`}>${choice}</option>`);

/** Returns a text in a scrollable box. */
export const payload = (text: string, name: string): Html =>
  text === ''
    ? html`<p class="note">Nothing was recorded.</p>`
    : html`<pre tabindex="0" role="region" aria-label="${name}">${text}</pre>`;

/** Returns a text with a button that copies it. */
export const copyable = (id: string, text: string): Html =>
  html`<div class="copyable"><pre id="copy-${id}" tabindex="0" role="region" aria-label="${id}">${text}</pre><button type="button" class="copy" id="copy-${id}-button" data-copy="copy-${id}" aria-label="Copy ${id}">Copy</button></div>`;
