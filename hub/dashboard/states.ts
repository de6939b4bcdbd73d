import { duration } from './format.ts';
import { type Html, html } from './html.ts';
import { type ButtonAction, type Tone, actionButton, badge } from './pieces.ts';
import { paths } from './paths.ts';
import { type Rights, loginLink } from './rights.ts';

/** State of a server. Times are in ms since the epoch. */
export type ServerRow = {
  readonly name: string;
  readonly state:
    'stopped' | 'starting' | 'running' | 'backing_off' | 'stopping' | 'failed' | 'unreachable';
  /** What the server is doing, or why it does not run. */
  readonly detail: string | undefined;
  /** Since when it is running; undefined if it is not. */
  readonly runsSince: number | undefined;
  readonly isEnabled: boolean;
  /** `hub`: in the hub itself, without actions. */
  readonly runsOn: 'docker' | 'process' | 'remote' | 'hub';
  readonly restarts: number;
  readonly breaker: 'closed' | 'open' | 'half_open' | undefined;
  readonly inFlight: number;
  readonly queued: number;
  readonly tools: number;
  /** Undefined if it cannot be measured. */
  readonly usage: UsageView | undefined;
  /** Rights of the visitor. */
  readonly rights: Rights;
};

export type UsageView = {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  /** Fraction of one CPU core, 1 being all of it. Undefined until it was measured twice. */
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

/** Badge for the state. */
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

type Begun = Extract<keyof typeof words, string>;
const words = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const;

/** The actions that are possible in the server's state. `where` makes the ids of the buttons unique within a page. */
export function serverActions(
  {
    name,
    state,
    isEnabled,
    runsOn,
    rights,
  }: Pick<ServerRow, 'name' | 'state' | 'isEnabled' | 'runsOn' | 'rights'>,
  wanted: readonly Begun[] = ['start', 'stop', 'restart'],
): Html {
  if (rights !== 'owner')
    return html`<div class="actions">${loginLink(rights, 'Log in to change it', `log-in-${name}`)}</div>`;
  const isDown = state === 'stopped' || state === 'failed';
  const possible = isDown ? ['start'] : ['stop', 'restart'];
  const buttons =
    isEnabled && runsOn !== 'hub' ? wanted.filter(action => possible.includes(action)) : [];
  const shown = buttons.map((action): ButtonAction => ({
    label: words[action],
    about: name,
    path: paths.action(action, name),
    id: `${action}-${name}`,
  }));
  return html`<div class="actions">${shown.map(actionButton)}</div>`;
}
