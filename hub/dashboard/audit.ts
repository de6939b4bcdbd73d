import type { AuditLine } from '#audit';
import { isObject } from '#core';
import { visible } from '#definitions';
import { outcomeBadge } from './activity.ts';
import type { DashboardAudit, DashboardRequest, Handlers } from './dashboard-types.ts';
import { duration, moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { badge, empty, failed, heading, serverLink, table } from './pieces.ts';

const perPage = 50;

type Needs = { readonly telemetry: { readonly audit?: DashboardAudit } };

/** Creates the page of the audit log, newest line first. */
export function auditPages({ telemetry: { audit } }: Needs) {
  return {
    async audit(request) {
      if (!audit) return failed(404, 'Not found', 'This hub has no audit log.');
      const asked = filterOf(request);
      const { before, denied, ...names } = asked;
      const named = Object.entries(names).filter(([, value]) => value !== '');
      const { lines, next } = await audit.list(
        { ...Object.fromEntries(named), isDenied: denied !== '' },
        { limit: perPage, before: before === '' ? undefined : Number(before) },
      );
      const status = await audit.status();
      const isFiltered = named.length > 0 || denied !== '';
      const main = html`${heading('Audit')}
<p class="lead">Every call, refusal and administrative change. Arguments are stored as hashes only.</p>
${status.kind === 'failing' && html`<p class="notice bad" role="alert">The log cannot be written: ${status.reason}</p>`}
${status.kind === 'off' && html`<p class="notice bad">The log is off: nothing new is recorded. <code>"audit": {"enabled": true}</code> in the config starts it.</p>`}
${filterForm(asked)}
${lines.length === 0 ? empty(isFiltered ? 'No line matches the filter.' : 'No lines yet.') : table('Lines of the audit log, newest first', lines, columns)}
${pager(asked, next)}`;
      return { page: { title: 'Audit', at: 'audit', main } };
    },
  } satisfies Handlers;
}

type Asked = ReturnType<typeof filterOf>;

function filterOf({ query }: DashboardRequest) {
  const before = query('before').trim();
  return {
    client: query('client').trim(),
    server: query('server').trim(),
    tool: query('tool').trim(),
    denied: query('denied') === '' ? '' : 'yes',
    before: /^\d{1,15}$/.test(before) ? before : '',
  };
}

/** Returns a text of a line. Clients choose names: their invisible characters could reverse the text beside them. */
function textIn(line: AuditLine, member: string): string | undefined {
  const value = line[member];
  return typeof value === 'string' ? visible(value) : undefined;
}

const columns: Parameters<typeof table<AuditLine>>[2] = [
  ['What', whatOf],
  ['When', ({ at }) => moment(Date.parse(at), 'date')],
  ['Who', whoOf],
  ['Server', serverOf],
  ['Outcome', outcomeOf],
  ['Rule', line => textIn(line, 'rule')],
  ['Took', ({ duration_ms: tookMs }) => typeof tookMs === 'number' && duration(tookMs), 'number'],
];

function whatOf(line: AuditLine): Content {
  const name = textIn(line, 'name') ?? textIn(line, 'action');
  const method = textIn(line, 'method');
  const path = textIn(line, 'path');
  const note = method ?? detailsOf(line);
  if (name !== undefined)
    return html`${name}${note !== undefined && html` <span class="note">${note}</span>`}`;
  return html`${method ?? line.kind}${path !== undefined && html` <span class="note">${path}</span>`}`;
}

/** Returns details of a change, such as the name of a secret. */
function detailsOf({ details }: AuditLine): string | undefined {
  if (!isObject(details)) return undefined;
  const members = Object.entries(details);
  return members
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .map(text => visible(text))
    .join('; ');
}

function whoOf(line: AuditLine): Content {
  const principal = textIn(line, 'principal') ?? textIn(line, 'address');
  const client = textIn(line, 'client');
  return html`${principal ?? 'the hub'}${client !== undefined && html` <span class="note">${client}</span>`}`;
}

function serverOf(line: AuditLine): Content {
  const server = textIn(line, 'server');
  return server === undefined ? textIn(line, 'target') : serverLink(server);
}

function outcomeOf(line: AuditLine): Content {
  const outcome = textIn(line, 'outcome');
  if (outcome !== undefined) return outcomeBadge(outcome);
  return line.kind === 'refusal' && badge('bad', 'refused');
}

function pager(asked: Asked, next: number | undefined): Html {
  const link = (id: string, text: string, before: number | undefined) =>
    html`<a id="${id}" href="${withQuery(paths.audit, { ...asked, before })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages of the audit log">${asked.before !== '' && link('newest', 'Newest', undefined)}${next !== undefined && link('older', 'Older', next)}</nav>`;
}

function filterForm({ client, server, tool, denied }: Asked): Html {
  const field = (name: string, label: string, value: string) =>
    html`<p><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value}" autocomplete="off" spellcheck="false"></p>`;
  return html`<form class="filter" method="get" action="${paths.audit}" role="search" aria-label="Lines of the audit log">
${field('client', 'Client', client)}${field('server', 'Server', server)}${field('tool', 'Tool, * for any characters', tool)}
<p><label><input type="checkbox" name="denied" value="yes"${denied !== '' && html` checked`}> refused only</label></p>
<p><button>Filter</button></p>
</form>`;
}
