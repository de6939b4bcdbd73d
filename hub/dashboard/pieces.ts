import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';

/** Colour of a status. It always accompanies text and never replaces it. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A label with a coloured dot. */
export const badge = (tone: Tone, text: Content): Html =>
  html`<span class="badge ${tone}">${text}</span>`;

/** Shown while a form waits for its response, also announced by screen readers. */
export const atWork: Html = html`<span role="status"><span class="at-work">${badge('busy', 'Working…')}</span></span>`;

/** Shown instead of an empty list. */
export const empty = (title: string, ...more: readonly Content[]): Html =>
  html`<div class="empty"><p class="lead">${title}</p>${more}</div>`;

/** Result of an action. */
export const notice = (tone: 'good' | 'bad', ...text: readonly Content[]): Html =>
  html`<p class="notice ${tone}">${text}</p>`;

/** A part of a page that reloads itself on `event`, and every ten seconds. */
export type Fragment = { readonly id: string; readonly from: string; readonly event: string };

/** `heading` names it for screen readers. */
export const fragment = (
  { id, from, event }: Fragment,
  ...content: readonly Content[]
): Html => html`<div id="${id}" hx-get="${from}" hx-trigger="${event} from:body, every 10s" hx-swap="outerHTML">
${content}
</div>`;

/** A button in a form of its own, which works without JavaScript. */
export type ButtonAction = {
  readonly label: string;
  readonly path: string;
  /** Unique within the page, so that the button keeps the focus when the page is updated. */
  readonly id: string;
  /** What the action applies to, for screen readers. */
  readonly about?: string;
  readonly tone?: 'primary' | 'danger';
};

export function actionButton({ label, path, id, about, tone }: ButtonAction): Html {
  const name = about === undefined ? undefined : html` aria-label="${label} ${about}"`;
  return html`<form method="post" action="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop"><button id="${id}" class="${tone}"${name}>${label}</button></form>`;
}

/** List of names and values. */
export function facts(rows: readonly (readonly [name: string, value: Content])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A column of a table. */
export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => Content;
  readonly isNumber?: boolean;
  /** True for the cell that names the row. */
  readonly isHeader?: boolean;
};

/**
 * A table. On a narrow screen each row becomes a card that labels its values with the column names. ARIA roles are
 * set because browsers drop table semantics when CSS changes the display type.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  const head = columns.map(
    ({ title, isNumber }) =>
      html`<th role="columnheader" scope="col"${isNumber && html` class="number"`}>${title}</th>`,
  );
  const cellOf = ({ title, cell, isNumber, isHeader }: Column<Row>, row: Row) => {
    const number = isNumber && html` class="number"`;
    return isHeader
      ? html`<th role="rowheader" scope="row"${number}>${cell(row)}</th>`
      : html`<td role="cell" data-title="${title}"${number}>${cell(row)}</td>`;
  };
  return html`<table role="table"><caption class="unseen">${caption}</caption><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">
${rows.map(
  row => html`<tr role="row">${columns.map(column => cellOf(column, row))}</tr>
`,
)}</tbody></table>`;
}

/** Link to a server's page. In parts that are updated it needs an id to keep the focus. */
export const serverLink = (name: string, id?: string): Html =>
  html`<a href="${paths.server(name)}"${id !== undefined && html` id="${id}"`}>${name}</a>`;
