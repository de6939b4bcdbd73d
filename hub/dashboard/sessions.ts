import type { Activity } from '#activity';
import type { Clock } from '#core';
import type { Router } from '#routing';
import type { Handlers } from './dashboard-types.ts';
import { ago } from './format.ts';
import { type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { connectHint, empty, fragment, heading, serverLink, table } from './pieces.ts';

type Needs = {
  readonly router: Pick<Router, 'sessions'>;
  readonly telemetry: { readonly activity: Pick<Activity, 'lastBySession'> };
  readonly system: { readonly clock: Pick<Clock, 'now'> };
};

const maxSessions = 200;

/** Creates the page of connected clients. */
export function sessionPages({ router, telemetry, system: { clock } }: Needs) {
  function sessionList(endpoint: string): Html {
    const all = router.sessions();
    const content =
      all.length === 0
        ? empty('No client is connected.', connectHint(endpoint))
        : html`${sessionTable(all.slice(0, maxSessions))}${all.length > maxSessions && html`<p class="note">The newest ${maxSessions} of ${all.length}.</p>`}`;
    return fragment('sessions', '/dashboard/sessions-partial', content);
  }

  function sessionTable(shown: ReturnType<typeof router.sessions>): Html {
    const now = clock.now();
    const lasts = telemetry.activity.lastBySession();
    function lastRequest(session: string) {
      const at = lasts.get(session);
      return at === undefined ? 'none yet' : ago(at, now);
    }
    return table('Sessions', shown, [
      [
        'Client',
        ({ client, id }) =>
          html`<a id="session-${id}" href="${withQuery(paths.activity, { session: id })}">${client ?? 'unknown'}</a>`,
      ],
      ['Over', ({ over }) => over],
      [
        'Sees',
        ({ id, server }) =>
          server === undefined ? 'all servers' : serverLink(server, `session-${id}-server`),
      ],
      ['Revision', ({ protocolVersion }) => protocolVersion],
      ['Opened', ({ openedAt }) => ago(openedAt, now)],
      ['Last request', ({ id }) => lastRequest(id)],
      ['In flight', ({ inFlight }) => inFlight, 'number'],
    ]);
  }

  return {
    async sessions({ endpoint }) {
      const main = html`${heading('Sessions')}
<p class="lead">Clients that are connected now. Clients without a session appear only in the <a href="${paths.activity}">activity</a>.</p>
${sessionList(endpoint)}`;
      return { page: { title: 'Sessions', at: 'sessions', main, events: paths.events } };
    },
    sessionsPartial: async ({ endpoint }) => ({ part: sessionList(endpoint) }),
  } satisfies Handlers;
}
