import { tryParseJson } from '#core';
import { type DefinitionPins, type PinReport, visible } from '#definitions';
import { answerOf, noticeOf } from './actions.ts';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { counted } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import {
  badge,
  countBadge,
  empty,
  failed,
  fragment,
  heading,
  serverLink,
  table,
} from './pieces.ts';

type Needs = {
  readonly hub: Pick<PageNeeds['hub'], 'pins'>;
};

type Deviation = PinReport['deviations'][number];

/** Maximum number of changed definitions of one server on a page. */
const maxShown = 20;

const nowhere = failed(409, 'Not here', 'This hub pins no definitions.');

/**
 * Creates the page of pinned definitions, with their changes and the forms to decide about them, and the badge with
 * their number.
 */
export function pinPages({ hub: { pins } }: Needs) {
  const decide = (verdict: 'accept' | 'reject') => async (request: DashboardRequest) => {
    if (!pins) return nowhere;
    const { form } = request;
    const server = request.param('name');
    const name = tryParseJson(form.get('name') ?? '');
    const kind = kinds.find(one => one === form.get('kind'));
    const hashes = form.getAll('hash');
    const choice = { kind, hashes, ...(typeof name === 'string' && { name }) };
    await pins.decide(verdict, server, choice);
    const done = verdict === 'accept' ? 'pins-accept' : 'pins-reject';
    const page = form.get('at') === 'server' ? paths.server(server) : paths.pins;
    return answerOf(request, { done, about: server, page });
  };

  return {
    /** Returns the badge of the navigation; nothing for visitors who may not decide. */
    badgeFor: ({ visitor }: DashboardRequest): Content =>
      pins && visitor.rights === 'owner' && pinsBadge(pins.waiting),
    handlers: {
      async pins(request) {
        const main = html`${heading('Pins')}
<p class="lead">Tools, prompts and instructions are pinned when a server is seen first. What changes later is listed here until you accept or reject it.</p>
${allPart(pins)}`;
        const notice = noticeOf(request);
        return { page: { title: 'Pins', at: 'pins', main, events: paths.events, notice } };
      },
      pinsPartial: async () => ({ part: allPart(pins) }),
      pinsBadge: async () => ({ part: pinsBadge(pins?.waiting ?? 0) }),
      serverPinsPartial: async ({ param }) =>
        pins ? { part: serverPinsPart(pins.report(param('name'))) } : nowhere,
      acceptPins: decide('accept'),
      rejectPins: decide('reject'),
    } satisfies Handlers,
  };
}

const kinds = ['tool', 'prompt', 'instructions'] as const;

const pinsBadge = (waiting: number): Html =>
  countBadge({ id: 'pins-badge', path: paths.pinsBadge, event: 'pins', waiting });

function allPart(pins: DefinitionPins | undefined): Html {
  const reports = pins?.reports() ?? [];
  const fault = pins?.fault();
  const changed = reports.filter(({ deviations, flags }) => deviations.length + flags.length > 0);
  const content = html`${fault !== undefined && html`<p class="notice bad">${fault}</p>`}
${
  changed.length === 0
    ? empty('Nothing has changed.')
    : changed.map(
        report =>
          html`<section aria-labelledby="pins-of-${report.server}"><h2 id="pins-of-${report.server}">${serverLink(report.server, `to-${report.server}`)} <span class="note">${report.pinning}</span></h2>
${reportPart(report, 'pins')}</section>`,
      )
}
<section aria-labelledby="all-pins"><h2 id="all-pins">All servers</h2>
${table('Pinned definitions', reports, [
  ['Server', ({ server }) => serverLink(server, `pinned-${server}`)],
  ['Pinned', ({ pinned }) => pinnedText(pinned)],
  ['Mode', ({ pinning }) => pinning],
  ['Waiting', ({ deviations }) => deviations.filter(isWaiting).length, 'number'],
])}
${orphansPart(pins)}</section>`;
  return fragment('pin-list', '/dashboard/pins-partial', content, 'pins');
}

function orphansPart(pins: DefinitionPins | undefined): Content {
  const orphans = pins?.orphans() ?? [];
  if (!pins || orphans.length === 0) return undefined;
  return html`<p class="note">Pinned, but not in the config: ${orphans.map(name => visible(name)).join(', ')}. Their pins are in <code>${pins.file}</code>.</p>`;
}

const isWaiting = ({ state }: Deviation): boolean => state !== 'rejected';

function pinnedText(pinned: PinReport['pinned']): string {
  if (!pinned) return 'not yet';
  const { tools, prompts, instructions } = pinned;
  const more = instructions ? ', instructions' : '';
  return `${counted(tools, 'tool')}, ${counted(prompts, 'prompt')}${more}`;
}

/** Shows the changed definitions of one server, on its page. */
export function serverPinsPart(report: PinReport): Html {
  const { server, deviations, flags } = report;
  const content =
    deviations.length + flags.length > 0 &&
    html`<section aria-labelledby="pins"><h2 id="pins">Changed definitions</h2>
${reportPart(report, 'server')}</section>`;
  return fragment('pin-list', paths.part(server, 'pins'), content, 'pins');
}

/** Shows the changed definitions of a server. `at` is the page that its forms lead back to. */
function reportPart({ server, deviations, flags }: PinReport, at: 'pins' | 'server'): Html {
  const shown = deviations.slice(0, maxShown);
  const more = deviations.length - shown.length;
  const waiting = shown.filter(isWaiting);
  return html`${flags.length > 0 && html`<ul class="notice bad">${flags.map(({ kind, name, text }) => html`<li>${kind} <code>${name}</code> ${text}</li>`)}</ul>`}
${shown.map(one => deviationPart(server, one, at))}
${more > 0 && html`<p class="note">and ${more} more: decide about these first, or use <code>agenthub pins ${server}</code>.</p>`}
${more === 0 && waiting.length > 1 && html`<div class="actions">${decideForm('accept', server, { label: `Accept all ${waiting.length}`, id: `accept-all-${server}`, about: `of ${server}`, chosen: deviations, at })}</div>`}`;
}

function deviationPart(server: string, deviation: Deviation, at: 'pins' | 'server'): Html {
  const { kind, name, state, isHidden, diff } = deviation;
  const shownName = visible(name);
  const id = `${server}-${kind}-${encodeURIComponent(shownName)}`;
  const about =
    kind === 'instructions'
      ? `the instructions of ${server}`
      : `the ${kind} ${shownName} of ${server}`;
  const button = (verdict: 'accept' | 'reject', label: string, tone?: 'danger') =>
    decideForm(verdict, server, {
      label,
      id: `${verdict}-${id}`,
      about,
      chosen: [deviation],
      only: { kind, name },
      at,
      tone,
    });
  return html`<article class="card" aria-label="${about}">
<div class="heading"><h3>${kind} ${kind !== 'instructions' && html`<code>${shownName}</code>`} ${badge(state === 'rejected' ? 'bad' : 'warn', state)} ${isHidden ? badge('idle', 'hidden') : badge('busy', 'offered')}</h3>
<div class="actions">${button('accept', 'Accept')}${state !== 'rejected' && button('reject', 'Reject', 'danger')}</div></div>
${
  diff.length === 0
    ? html`<p class="note">It is too long to be shown.</p>`
    : html`<pre class="diff" id="diff-${id}" tabindex="0" role="region" aria-label="Difference of ${about}">${diff.map(lineOf)}</pre>`
}</article>`;
}

const lineOf = ({ sign, text }: Deviation['diff'][number]): Html => {
  const line = `${sign} ${text}\n`;
  if (sign === ' ') return html`${line}`;
  return html`<span class="${sign === '+' ? 'added' : 'removed'}">${line}</span>`;
};

type Decision = {
  readonly label: string;
  readonly id: string;
  readonly about: string;
  /** Hashes of the definitions that the page shows. The decision fails if they have changed meanwhile. */
  readonly chosen: readonly Pick<Deviation, 'hash'>[];
  /** The one definition to decide about; absent for all of the server. */
  readonly only?: Pick<Deviation, 'kind' | 'name'>;
  readonly at: 'pins' | 'server';
  readonly tone?: 'danger' | undefined;
};

function decideForm(
  verdict: 'accept' | 'reject',
  server: string,
  { label, id, about, chosen, only, at, tone }: Decision,
): Html {
  const path = paths.action(verdict === 'accept' ? 'pins-accept' : 'pins-reject', server);
  const field = (name: string, value: string) =>
    html`<input type="hidden" name="${name}" value="${value}">`;
  // Write the name as JSON, because forms change line breaks and lone surrogates.
  const which = only && [field('kind', only.kind), field('name', JSON.stringify(only.name))];
  return html`<form method="post" action="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop">${which}${chosen.map(({ hash }) => field('hash', hash))}${field('at', at)}<button id="${id}" class="${tone}" aria-label="${label} ${about}">${label}</button></form>`;
}
