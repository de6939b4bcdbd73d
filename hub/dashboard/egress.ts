import type { EgressReport } from '#runtimes';
import { ago, count, counted } from './format.ts';
import { type Html, html } from './html.ts';
import { table } from './pieces.ts';

/** Shows the connections of a server that its network settings allowed and blocked. */
export function egressPart({ allowed, blockedCount, blocked }: EgressReport, now: number): Html {
  const said = html`<p class="note">${counted(allowed, 'connection')} allowed, ${count(blockedCount)} blocked.${blocked.length > 0 && html` To allow a target, add it to <code>network.allow</code> of the entry.`}</p>`;
  const targets =
    blocked.length > 0 &&
    table('Blocked targets, the latest first', blocked, [
      ['Target', ({ target }) => html`<code>${target}</code>`],
      ['Why', ({ why }) => why],
      ['Times', ({ count: times }) => count(times), 'number'],
      ['Last', ({ lastAt }) => ago(lastAt, now)],
    ]);
  return html`<section aria-labelledby="egress"><h2 id="egress">Network</h2>${said}${targets}</section>`;
}
