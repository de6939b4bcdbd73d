import type { NamedClient } from '#access';
import { HubError } from '#core';
import type { SecretStatus } from '#secrets';
import { answerOf, noticeOf } from './actions.ts';
import type { DashboardAccess, DashboardRequest, Handlers } from './dashboard-types.ts';
import { ago, count, counted, duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { type LoginsShown, loginsPart } from './oauth.ts';
import { paths } from './paths.ts';
import { badge, empty, fragment, heading, serverLink, table } from './pieces.ts';

/** A rule of the active policy, as the dashboard shows it. */
export type ShownRule = {
  readonly path: string;
  readonly rule: { readonly action: 'allow' | 'deny' | 'confirm' };
  /** Number of calls that the rule has decided. */
  readonly calls: number;
  /** Tool names in the rule that no server has. */
  readonly unknownTools: readonly string[];
};

type Needs = Pick<LoginsShown, 'servers'> & {
  readonly hub: { readonly access: DashboardAccess } & Partial<Pick<LoginsShown, 'logins'>>;
  readonly router: { readonly policy: { readonly rules: () => readonly ShownRule[] } };
  readonly system: { readonly clock: { readonly now: () => number } };
};

/** Creates the pages of clients, rules of the policy, and secrets. */
export function accessPages({ servers, hub, router, system: { clock } }: Needs) {
  const { access, logins } = hub;

  async function parts({ endpoint }: DashboardRequest): Promise<Html> {
    const content = html`<section aria-labelledby="clients"><h2 id="clients">Clients</h2>
${clientPart(access, clock.now(), endpoint)}</section>
<section aria-labelledby="policy"><h2 id="policy">Policy</h2>
${rulePart(router.policy.rules())}</section>
<section aria-labelledby="secrets"><h2 id="secrets">Secrets</h2>
${secretPart(await access.secrets())}</section>
${
  logins &&
  html`<section aria-labelledby="logins"><h2 id="logins">Logins to servers</h2>
${await loginsPart({ servers, logins }, clock.now())}</section>`
}`;
    return fragment('access', '/dashboard/access-partial', content, 'activity');
  }

  return {
    async access(request) {
      const main = html`${heading('Access')}
<p class="lead">Who may call what. The config file says so; changes apply at once.</p>
${await parts(request)}`;
      const notice = noticeOf(request);
      return { page: { title: 'Access', at: 'access', main, events: paths.events, notice } };
    },
    accessPartial: async request => ({ part: await parts(request) }),
    async confirmRevoke({ param }) {
      const name = param('name');
      if (!access.clients().some(client => client.name === name && client.source === 'made'))
        throw new HubError(
          'HUB_NAME_UNKNOWN',
          `no client ${JSON.stringify(name)} has a token that was made`,
        );
      return {
        page: { title: `Revoke the token of ${name}`, at: 'access', main: revocation(name) },
      };
    },
    async revokeToken(request) {
      const name = request.param('name');
      await access.revoke(name);
      return answerOf(request, { done: 'token-revoke', about: name, page: paths.access });
    },
  } satisfies Handlers;
}

function clientPart({ clients, needsToken }: DashboardAccess, now: number, endpoint: string): Html {
  const all = clients();
  const said = needsToken()
    ? 'Calls need a token.'
    : "Programs of the hub's own user may call without a token, and are then the client local.";
  if (all.length === 0)
    return empty(
      'No named clients yet.',
      html`<p>${said} <code>agenthub token create NAME</code> makes a token for ${endpoint}, and <code>agenthub connect</code> writes one.</p>`,
    );
  const seen = (at: number | undefined) =>
    at === undefined ? 'not since the start' : ago(at, now);
  return html`<p class="note">${said}</p>${table('Clients by name', all, [
    [
      'Client',
      ({ name, administer }) =>
        html`${name}${administer && html` ${badge('warn', 'administers')}`}`,
    ],
    ['Last seen', ({ seenAt }) => seen(seenAt)],
    ['Calls', ({ calls }) => count(calls), 'number'],
    ['Refused', ({ refused }) => count(refused), 'number'],
    ['Token', client => tokenOf(client, now)],
    ['Made', ({ createdAt }) => createdAt !== undefined && ago(createdAt, now)],
    [
      'Change',
      ({ name, source }) =>
        source === 'made' &&
        html`<a class="button danger" id="revoke-${name}" aria-label="Revoke the token of ${name}" href="${paths.revocation(name)}">Revoke…</a>`,
    ],
  ])}`;
}

const revocation = (name: string): Html =>
  html`<p class="crumbs"><a href="${paths.access}">Access</a></p>
${heading(`Revoke the token of ${name}?`)}
<form class="card" method="post" action="${paths.action('token-revoke', name)}">
<p>Its sessions and streams end at once, and its calls are refused. It can log in again, or get another token by <code>agenthub token create</code>.</p>
<p class="actions"><button class="danger" id="confirm">Revoke the token</button><a class="button" href="${paths.access}">Keep it</a></p>
</form>`;

function tokenOf({ source, expiresAt }: NamedClient, now: number): Content {
  if (source === undefined) return badge('idle', 'none');
  if (expiresAt !== undefined)
    return html`by login <span class="note">ends in ${duration(Math.max(0, expiresAt - now))}</span>`;
  return source === 'config' ? 'in the config' : 'made';
}

function rulePart(rules: readonly ShownRule[]): Html {
  if (rules.length === 0)
    return empty(
      'Everything is allowed.',
      html`<p>Rules in <code>policy</code> of the config deny tools, resources and prompts to clients.</p>`,
    );
  return html`<p class="note">The first rule that matches decides. What no rule matches is allowed.</p>${table(
    'Rules in order',
    rules,
    [
      ['Rule', ({ path }) => html`<code>${path}</code>`],
      ['Action', ({ rule: { action } }) => badge(ruleBadges[action], action)],
      ['Matches', matchesOf],
      ['Calls decided', ({ calls }) => count(calls), 'number'],
    ],
  )}`;
}

const ruleBadges = { allow: 'good', confirm: 'warn', deny: 'bad' } as const;

function matchesOf({ rule, unknownTools }: ShownRule): Content {
  // Leave out the action, which has a column of its own.
  const matchers = { ...rule, action: undefined };
  const unknown =
    unknownTools.length > 0 &&
    html` ${badge('warn', 'no such tool')} <span class="note">${unknownTools.join(', ')}</span>`;
  return html`<code>${JSON.stringify(matchers)}</code>${unknown}`;
}

function secretPart(secrets: readonly SecretStatus[]): Html {
  if (secrets.length === 0)
    return empty(
      'No secret is used or stored.',
      html`<p><code>agenthub secret set NAME</code> stores one, and <code>\${secret:NAME}</code> in the config uses it.</p>`,
    );
  return html`<p class="note">${counted(secrets.length, 'secret')}. Values are never shown.</p>${table(
    'Secrets by name',
    secrets,
    [
      ['Secret', ({ name }) => html`<code>${name}</code>`],
      ['From', sourceOf],
      ['Used by', usesOf],
    ],
  )}`;
}

function sourceOf({ source, reason }: SecretStatus): Content {
  if (reason === undefined) return source;
  const state = source === undefined ? 'missing' : 'unreadable';
  return html`${badge('bad', state)} <span class="note">${reason}</span>`;
}

const usesOf = ({ name, used_by: uses }: SecretStatus): Content =>
  uses.length === 0
    ? badge('idle', 'nothing')
    : uses.map(
        ({ server, path }, at) =>
          html`${at > 0 && ', '}${server === undefined ? 'the hub' : serverLink(server, `secret-${name}-${at}`)} <span class="note">${path}</span>`,
      );
