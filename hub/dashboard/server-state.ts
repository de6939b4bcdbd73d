import { duration } from './format.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { type Tone, actionButton, badge, loginLink } from './pieces.ts';
import type { ServerRow } from './server-view.ts';

const tones: Readonly<Record<ServerRow['state'], Tone>> = {
  stopped: 'idle',
  starting: 'busy',
  running: 'good',
  backing_off: 'warn',
  stopping: 'busy',
  failed: 'bad',
  unreachable: 'bad',
};

export const stateBadge = ({ state, isEnabled }: Pick<ServerRow, 'state' | 'isEnabled'>): Html =>
  isEnabled ? badge(tones[state], state.replace('_', ' ')) : badge('idle', 'disabled');

/** Badge for the circuit breaker; undefined if it is closed. */
export function breakerBadge(breaker: ServerRow['breaker']): Html | string | undefined {
  if (breaker === undefined) return undefined;
  if (breaker === 'closed') return 'closed';
  return breaker === 'open' ? badge('bad', 'open') : badge('warn', 'half open');
}

/** Where the server runs. A process without a container is labelled as not isolated. */
export const placeOf = ({ runsOn }: Pick<ServerRow, 'runsOn'>): string =>
  ({
    docker: 'container',
    process: 'process, no sandbox',
    remote: 'remote',
    hub: 'part of the hub',
  })[runsOn];

export const uptime = (
  { runsSince }: Pick<ServerRow, 'runsSince'>,
  now: number,
): string | undefined =>
  runsSince === undefined ? undefined : duration(Math.max(1000, now - runsSince));

const words = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const;

/** The actions that are possible in the server's state. */
export function serverActions(
  { name, state, isEnabled, runsOn, rights }: ServerRow,
  wanted: readonly (keyof typeof words)[] = ['start', 'stop', 'restart'],
): Html {
  if (rights !== 'owner')
    return html`<div class="actions">${loginLink(rights, 'Log in to change it', `log-in-${name}`)}</div>`;
  const isDown = state === 'stopped' || state === 'failed';
  const possible = isDown ? ['start'] : ['stop', 'restart'];
  const buttons =
    isEnabled && runsOn !== 'hub' ? wanted.filter(action => possible.includes(action)) : [];
  const shown = buttons.map(action =>
    actionButton({
      label: words[action],
      about: name,
      path: paths.action(action, name),
      id: `${action}-${name}`,
    }),
  );
  return html`<div class="actions">${shown}</div>`;
}
