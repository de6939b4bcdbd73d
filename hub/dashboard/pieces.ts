import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';

/** How something fares: colour goes with the words, and never instead of them. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A word with a coloured dot before it. */
export const badge = (tone: Tone, text: Content): Html =>
  html`<span class="badge ${tone}">${text}</span>`;

/** What a form shows while its answer is awaited, to those who hear pages as well. */
export const atWork: Html = html`<span role="status"><span class="at-work">${badge('busy', 'Working…')}</span></span>`;

/** What is said where there is nothing to show. */
export const empty = (title: string, ...more: readonly Content[]): Html =>
  html`<div class="empty"><p class="lead">${title}</p>${more}</div>`;

/** What has been done, or has failed. */
export const notice = (tone: 'good' | 'bad', ...text: readonly Content[]): Html =>
  html`<p class="notice ${tone}">${text}</p>`;

/** A part of a page that asks for itself again, when `event` is told and every ten seconds. */
export type Fragment = { readonly id: string; readonly from: string; readonly event: string };

/** `heading` names it for those who do not see it. */
export const fragment = (
  { id, from, event }: Fragment,
  ...content: readonly Content[]
): Html => html`<div id="${id}" hx-get="${from}" hx-trigger="${event} from:body, every 10s" hx-swap="outerHTML">
${content}
</div>`;

/** A button that does something, with a form around it that works without script too. */
export type Action = {
  readonly label: string;
  readonly path: string;
  /** Tells it from the others of its page, so that it keeps the focus when the page is brought up to date. */
  readonly id: string;
  /** What it is about, for those who hear the label by itself. */
  readonly about?: string;
  readonly tone?: 'primary' | 'danger';
};

export function actionButton({ label, path, id, about, tone }: Action): Html {
  const name = about === undefined ? undefined : html` aria-label="${label} ${about}"`;
  return html`<form method="post" action="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop"><button id="${id}" class="${tone}"${name}>${label}</button></form>`;
}

/** Pairs of a name and a value. */
export function facts(rows: readonly (readonly [name: string, value: Content])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A column of a table, and what stands in it in each row. */
export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => Content;
  readonly isNumber?: boolean;
  /** The cell that names the row. */
  readonly isHeader?: boolean;
};

/**
 * A table; on a narrow screen each row becomes a card, whose lines are named after the columns. The roles
 * are said as well: browsers forget them for what is not laid out as a table.
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

/** A link to a server's page. In what is brought up to date it needs an id, so as to keep the focus. */
export const serverLink = (name: string, id?: string): Html =>
  html`<a href="${paths.server(name)}"${id !== undefined && html` id="${id}"`}>${name}</a>`;
