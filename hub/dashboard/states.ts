import { duration } from './format.ts';
import { type Html, html } from './html.ts';
import { type Action, type Tone, actionButton, badge } from './pieces.ts';
import { paths } from './paths.ts';
import { type Rights, loginLink } from './rights.ts';

/** How a server fares, as far as it is shown. Times are milliseconds since the epoch. */
export type ServerRow = {
  readonly name: string;
  readonly state:
    'stopped' | 'starting' | 'running' | 'backing_off' | 'stopping' | 'failed' | 'unreachable';
  /** What it does just now, or why it does not run. */
  readonly detail: string | undefined;
  /** Since when it runs; undefined while it does not. */
  readonly runsSince: number | undefined;
  readonly isEnabled: boolean;
  readonly runsOn: 'docker' | 'process' | 'remote';
  readonly restarts: number;
  readonly breaker: 'closed' | 'open' | 'half_open' | undefined;
  readonly inFlight: number;
  readonly queued: number;
  readonly tools: number;
  /** Undefined where nobody can tell. */
  readonly usage: Usage | undefined;
  /** Of whom it is shown to. */
  readonly rights: Rights;
};

export type Usage = {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  /** Of one processor, 1 being all of it; undefined until it was looked at twice. */
  readonly cpuShare: number | undefined;
};

const tones: Readonly<Record<ServerRow['state'], Tone>> = {
  stopped: 'idle',
  starting: 'busy',
  running: 'good',
  backing_off: 'warn',
  stopping: 'busy',
  failed: 'bad',
  unreachable: 'bad',
};

/** The state in words, with its colour. */
export const stateBadge = ({ state, isEnabled }: Pick<ServerRow, 'state' | 'isEnabled'>): Html =>
  isEnabled ? badge(tones[state], state.replace('_', ' ')) : badge('idle', 'disabled');

/** The breaker in words; one that is closed is nothing to look at. */
export function breakerBadge(breaker: ServerRow['breaker']): Html | string | undefined {
  if (breaker === undefined) return undefined;
  if (breaker === 'closed') return 'closed';
  return breaker === 'open' ? badge('bad', 'open') : badge('warn', 'half open');
}

/** What runs on nothing of its own is not isolated. */
export const placeOf = ({ runsOn }: Pick<ServerRow, 'runsOn'>): string =>
  ({ docker: 'container', process: 'process, no sandbox', remote: 'remote' })[runsOn];

export const uptime = (
  { runsSince }: Pick<ServerRow, 'runsSince'>,
  now: number,
): string | undefined =>
  runsSince === undefined ? undefined : duration(Math.max(1000, now - runsSince));

type Begun = Extract<keyof typeof words, string>;
const words = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const;

/** What may be done with a server as it is; `where` tells the buttons of a page apart. */
export function serverActions(
  { name, state, isEnabled, rights }: Pick<ServerRow, 'name' | 'state' | 'isEnabled' | 'rights'>,
  wanted: readonly Begun[] = ['start', 'stop', 'restart'],
): Html {
  if (rights !== 'owner')
    return html`<div class="actions">${loginLink(rights, 'Log in to change it', `log-in-${name}`)}</div>`;
  const isDown = state === 'stopped' || state === 'failed';
  const possible = isDown ? ['start'] : ['stop', 'restart'];
  const buttons = isEnabled ? wanted.filter(action => possible.includes(action)) : [];
  const shown = buttons.map((action): Action => ({
    label: words[action],
    about: name,
    path: paths.action(action, name),
    id: `${action}-${name}`,
  }));
  return html`<div class="actions">${shown.map(actionButton)}</div>`;
}
