import { ago } from './format.ts';
import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths, withQuery } from './paths.ts';
import { empty, fragment, serverLink, table } from './pieces.ts';

/** A connected client. Times are in ms since the epoch. */
export type SessionRow = {
  readonly id: string;
  /** Name and version from the client's `clientInfo`. */
  readonly client: string | undefined;
  /** Transport: `http`, `sse`, `websocket`, `stdio`. */
  readonly over: string;
  /** The server of a single-server endpoint; undefined for the endpoint of all servers. */
  readonly server: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly openedAt: number;
  readonly lastRequestAt: number | undefined;
  readonly inFlight: number;
};

export type SessionsView = {
  /** One page of sessions. */
  readonly sessions: readonly SessionRow[];
  readonly total: number;
  readonly now: number;
  /** URL for clients. */
  readonly endpoint: string;
};

/** Page of sessions. */
export const sessions = (view: SessionsView): Html =>
  html`${heading('Sessions')}
<p class="lead">Clients that are connected now. Clients without a session appear only in the <a href="${paths.activity}">activity</a>.</p>
${sessionsPartial(view)}`;

/** Only the list of sessions. */
export const sessionsPartial = (view: SessionsView): Html =>
  fragment({ id: 'sessions', from: '/dashboard/sessions-partial', event: 'sessions' }, rows(view));

function rows({ sessions: shown, total, now, endpoint }: SessionsView): Html {
  if (total === 0)
    return empty(
      'No client is connected.',
      html`<p>Connect one: <code>agenthub connect</code> sets it up, or use the URL <code>${endpoint}</code></p>`,
    );
  const all = table<SessionRow>(
    'Sessions',
    [
      {
        title: 'Client',
        isHeader: true,
        cell: ({ client, id }) =>
          html`<a id="session-${id}" href="${withQuery(paths.activity, { session: id })}">${client ?? 'unknown'}</a>`,
      },
      { title: 'Over', cell: ({ over }) => over },
      {
        title: 'Sees',
        cell: ({ id, server }) =>
          server === undefined ? 'all servers' : serverLink(server, `session-${id}-server`),
      },
      { title: 'Revision', cell: ({ protocolVersion }) => protocolVersion },
      { title: 'Opened', cell: ({ openedAt }) => ago(openedAt, now) },
      {
        title: 'Last request',
        cell: ({ lastRequestAt }) =>
          lastRequestAt === undefined ? 'none yet' : ago(lastRequestAt, now),
      },
      { title: 'In flight', isNumber: true, cell: ({ inFlight }) => inFlight },
    ],
    shown,
  );
  return html`${all}${total > shown.length && html`<p class="note">The newest ${shown.length} of ${total}.</p>`}`;
}
