import type { PartHealth } from './dashboard-types.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { actionButton, badge } from './pieces.ts';
import { isDown, stateBadge } from './server-state.ts';
import type { ServerRow } from './server-view.ts';

/** A part of the hub with a problem. `detail` is redacted. */
export type PartProblem = Pick<PartHealth, 'state'> & {
  readonly name: string;
  readonly detail: string | undefined;
};

/** Lists problems of servers and parts of the hub, with cause and remedy; nothing if there are none. */
export function problemList(rows: readonly ServerRow[], parts: readonly PartProblem[]): Content {
  const problems = [...parts.map(partProblem), ...rows.flatMap(row => serverProblem(row) ?? [])];
  if (problems.length === 0) return undefined;
  return html`<section aria-labelledby="problems"><h2 id="problems">Problems <span class="note">${problems.length}</span></h2>
<ul class="problems">${problems}</ul></section>`;
}

const partProblem = ({ name, state, detail }: PartProblem): Html =>
  html`<li><div class="heading"><strong>${name}</strong>${badge(state === 'down' ? 'bad' : 'warn', state)}</div>${detail !== undefined && html`<p class="cause">${detail}</p>`}</li>
`;

function serverProblem(row: ServerRow): Html | undefined {
  const found = [
    isDown(row) && (row.detail ?? 'It does not run.'),
    row.heldBack !== undefined && `Its entry waits for your approval: ${row.heldBack}`,
    row.refusedEntry !== undefined &&
      `The new entry in the config is not applied: ${row.refusedEntry}`,
    row.breaker === 'open' &&
      'The circuit breaker is open after repeated failures: calls are refused for now.',
  ].filter(text => text !== false);
  if (found.length === 0) return undefined;
  const { name, lastLine } = row;
  const isNew = lastLine !== undefined && !found.some(text => text.includes(lastLine));
  return html`<li><div class="heading"><a id="problem-${name}" href="${paths.server(name)}"><strong>${name}</strong></a>${stateBadge(row)}${remedies(row)}</div>
${found.map(text => html`<p class="cause">${text}</p>`)}${isDown(row) && isNew && html`<code class="last-line">${lastLine}</code>`}</li>
`;
}

function remedies(row: ServerRow): Content {
  const { name, rights, state } = row;
  if (rights !== 'owner') return undefined;
  const log = withQuery(paths.server(name), { tab: 'log' });
  const isOver = state === 'failed' || state === 'stopped';
  const action = isOver ? 'start' : 'restart';
  return html`<div class="actions">${row.runsOn !== 'remote' && html`<a class="button" id="log-${name}" aria-label="Show log of ${name}" href="${log}">Show log</a>`}${
    state === 'needs_login'
      ? html`<a class="button primary" id="needs-login-${name}" href="${paths.server(name)}">Log in…</a>`
      : row.heldBack === undefined &&
        actionButton({
          label: 'Retry',
          about: name,
          path: paths.action(action, name),
          id: `retry-${name}`,
        })
  }</div>`;
}
