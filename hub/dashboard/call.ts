import { type CallRow, outcomeBadge } from './activity.ts';
import { duration, moment } from './format.ts';
import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { facts, serverLink } from './pieces.ts';
import { type Rights, ownersOnly } from './rights.ts';

/** A call with its payloads, secrets redacted. */
export type CallView = CallRow & {
  readonly rights: Rights;
  /** Undefined unless the visitor is the owner. */
  readonly payloads: { readonly request: string; readonly reply: string } | undefined;
};

/** Page of one call. */
export function call(view: CallView): Html {
  const { name, method, server, client, session, at, outcome, tookMs, serverMs } = view;
  const hubMs = Math.max(0, tookMs - serverMs);
  return html`<p class="crumbs"><a href="${paths.activity}">Activity</a></p>
${heading(name ?? method, outcomeBadge(outcome))}
${facts([
  ['Method', method],
  ['Server', server === undefined ? 'the hub itself' : serverLink(server)],
  ['Client', client ?? 'unknown'],
  ['Session', html`<code>${session}</code>`],
  ['When', moment(at, 'date')],
  ['Took', duration(tookMs)],
])}
<section aria-labelledby="split"><h2 id="split">Where the time went</h2>${split(hubMs, serverMs)}</section>
${payloadsOf(view)}`;
}

const payloadsOf = ({ payloads, rights }: CallView): Html =>
  payloads
    ? html`<section><h2>Request</h2>${payload(payloads.request, 'Request')}</section>
<section><h2>Answer</h2>${payload(payloads.reply, 'Answer')}</section>`
    : html`<section><h2>Request and response</h2>${ownersOnly(rights, 'The content')}</section>`;

function split(hubMs: number, serverMs: number): Html {
  const whole = Math.max(hubMs + serverMs, Number.MIN_VALUE);
  const hub = Math.round((hubMs / whole) * 1000) / 10;
  return html`<svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="second" width="${hub}" height="4"/><rect class="first" x="${hub}" width="${100 - hub}" height="4"/></svg>
<ul class="key"><li class="second">hub ${duration(hubMs)}</li><li class="first">server ${duration(serverMs)}</li></ul>`;
}

/** A payload in a scrollable box. Only the beginning of a long payload is stored. */
export const payload = (text: string, name: string): Html =>
  text === ''
    ? html`<p class="note">Nothing was recorded.</p>`
    : html`<pre tabindex="0" role="region" aria-label="${name}">${text}</pre>`;
