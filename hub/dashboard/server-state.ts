import { duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { type Tone, actionButton, badge, loginLink } from './pieces.ts';
import type { ServerRow } from './server-view.ts';

const states: Readonly<Record<ServerRow['state'], readonly [tone: Tone, text: string]>> = {
  stopped: ['idle', 'stopped'],
  starting: ['busy', 'starting'],
  running: ['good', 'running'],
  backing_off: ['warn', 'restarting'],
  stopping: ['busy', 'stopping'],
  failed: ['bad', 'failed'],
  unreachable: ['bad', 'unreachable'],
  needs_login: ['warn', 'needs login'],
};

/** Shows the state of a server. A stopped server starts with its first call, unless a person stopped it. */
export function stateBadge({ state, isEnabled, isStoppedByHand }: ServerRow): Html {
  if (!isEnabled) return badge('idle', 'disabled');
  if (state === 'stopped' && !isStoppedByHand) return badge('idle', 'on demand');
  return badge(...states[state]);
}

/** True if the server should run but does not. */
export const isDown = ({ state, isEnabled }: Pick<ServerRow, 'state' | 'isEnabled'>): boolean =>
  isEnabled &&
  (state === 'failed' ||
    state === 'unreachable' ||
    state === 'backing_off' ||
    state === 'needs_login');

export function breakerBadge(breaker: ServerRow['breaker']): Content {
  if (breaker === undefined || breaker === 'closed') return breaker;
  return breaker === 'open' ? badge('bad', 'open') : badge('warn', 'half open');
}

const places = {
  docker: 'container',
  process: 'process',
  remote: 'remote',
  hub: 'hub',
} as const;
export const placeOf = ({ runsOn }: ServerRow): string => places[runsOn];

export const uptime = ({ runsSince }: ServerRow, now: number): string | undefined =>
  runsSince === undefined ? undefined : duration(Math.max(1000, now - runsSince));

const actionLabels = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const;
type ServerAction = keyof typeof actionLabels;

const isPossible = ({ state }: ServerRow, action: ServerAction) =>
  ['stopped', 'failed', 'needs_login'].includes(state) === (action === 'start');

const hasActions = ({ isEnabled, runsOn }: ServerRow) => isEnabled && runsOn !== 'hub';

const all = ['start', 'stop', 'restart'] as const;

/**
 * Returns the buttons of a server. Actions that its state does not permit are disabled, but keep their places, so that
 * no other action moves under the pointer.
 */
export function serverActions(row: ServerRow): Html {
  const { name, rights } = row;
  if (rights !== 'owner')
    return html`<div class="actions">${loginLink(rights, 'Log in to change it', `log-in-${name}`)}</div>`;
  const buttons = all.map(action =>
    actionButton({
      label: actionLabels[action],
      about: name,
      path: paths.action(action, name),
      id: `${action}-${name}`,
      isDisabled: !isPossible(row, action),
    }),
  );
  return html`<div class="actions">${hasActions(row) && buttons}</div>`;
}

/** Returns the buttons of a server as icons in one form, for a row of a table. */
export function rowActions(row: ServerRow): Content {
  if (!hasActions(row)) return undefined;
  const { name } = row;
  const button = (action: ServerAction) => {
    const path = paths.action(action, name);
    const sent = isPossible(row, action)
      ? html`formaction="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop"`
      : html`disabled`;
    return html`<button class="icon ${action}" id="${action}-${name}" title="${actionLabels[action]}" aria-label="${actionLabels[action]} ${name}" ${sent}></button>`;
  };
  return html`<form class="actions" method="post">${all.map(button)}</form>`;
}
