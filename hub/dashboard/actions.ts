import { HubError, messageOf } from '#core';
import type { LeftBehind } from '#installs';
import { type Server, restartNow, startNow } from '#servers';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { failed, heading, notice } from './pieces.ts';

/**
 * Returns the answer to a completed action. htmx gets a notice; other clients are redirected to `page` with the notice.
 */
export const answerOf = (
  { isHtmx }: DashboardRequest,
  { done, about, page }: { readonly done: Done; readonly about: string; readonly page: string },
): DashboardAnswer =>
  isHtmx ? { part: sentence(done, about) } : { redirect: withQuery(page, { done, about }) };

/** Returns a function that makes handlers of a part of the hub. Without that part, they answer `absent`. */
export const having =
  <Part>(part: Part | undefined, absent: DashboardAnswer) =>
  (answer: (part: Part, request: DashboardRequest) => Promise<DashboardAnswer>) =>
  async (request: DashboardRequest): Promise<DashboardAnswer> =>
    part === undefined ? absent : await answer(part, request);

/** Creates the handlers of actions on servers, caches and jobs. */
export function actions({ servers, installs, prompts, jobs, changes, system }: PageNeeds) {
  /** Starts an action without waiting for its end: the state of the server shows the progress. */
  const act =
    (done: 'start' | 'stop' | 'restart', work: (server: Server) => Promise<unknown>) =>
    async (request: DashboardRequest) => {
      const server = servers.get(request.param('name'));
      const { name, enabled } = server.config;
      if (!enabled)
        throw new HubError('HUB_SERVER_DISABLED', whyDisabled(name), { data: { server: name } });
      work(server).catch((error: unknown) =>
        system.log.info({ server: name, error: messageOf(error) }, `the ${done} failed`),
      );
      return answerOf(request, { done, about: name, page: paths.server(name) });
    };

  return {
    start: act('start', startNow),
    stop: act('stop', server => server.stop(true)),
    restart: act('restart', restartNow),
    async remove(request) {
      const { name } = servers.get(request.param('name')).config;
      if (!installs) return fileOnly;
      const purge = request.form.get('purge') === 'true';
      const { left } = await installs.remove(name, { purge });
      if (left.length > 0)
        return { page: { title: `Removed ${name}`, at: 'overview', main: leftPart(name, left) } };
      return answerOf(request, { done: 'remove', about: name, page: paths.overview });
    },
    async clearCache(request) {
      const loaded = await prompts?.open();
      if (!loaded) return noPrompts;
      const client = (request.form.get('client') ?? '').trim();
      const { exact, semantic } = await loaded.enhancer.forget(client || undefined);
      changes.note('caches');
      changes.note('stats');
      const removed = exact + semantic;
      const about = removed === 1 ? '1 result' : `${removed} results`;
      return answerOf(request, { done: 'clear-cache', about, page: paths.caches });
    },
    async cancelInstall(request) {
      const id = request.param('id');
      if (jobs.find(id)) void jobs.cancel(id);
      return answerOf(request, { done: 'cancel-install', about: 'the job', page: paths.job(id) });
    },
  } satisfies Handlers;
}

/** Shows what the removal of a server has left, and why. */
const leftPart = (name: string, left: readonly LeftBehind[]): Html =>
  html`${heading(`Removed ${name}`)}
<p>Not removed:</p>
<ul>${left.map(one => html`<li>the ${one.kind} <code>${one.name}</code>: ${one.why}</li>`)}</ul>
<p><a href="${paths.overview}">To the overview</a></p>`;

/** Says that a server is disabled, and how to enable it. Either key disables an entry. */
export const whyDisabled = (name: string): string =>
  `${name} is disabled in the config. Remove "disabled": true or "enabled": false from its entry to use it.`;

type Done = keyof typeof notices;

/** Notices about completed actions. Each takes the name of the object that changed. */
const notices = {
  start: name => `Starting ${name}.`,
  stop: name => `Stopping ${name}. Calls do not start it again.`,
  restart: name => `Restarting ${name}.`,
  remove: name => `Removed ${name}.`,
  'oauth-login': name => `Logged in to ${name}.`,
  'oauth-logout': name => `Logged out of ${name}.`,
  'clear-cache': results => `Cleared ${results} from the caches.`,
  'cancel-install': job => `Cancelling ${job}.`,
  'agent-stop': id => `Stopped ${id}. The next message starts it again.`,
  'agent-cancel': id => `Cancelling the message of ${id}.`,
  'task-run': id => `${id} runs until it needs you.`,
  'task-cancel': id => `Cancelled ${id}. Its branch is kept.`,
  'task-finalize': id => `Merged ${id}.`,
  'task-verdict': id => `Recorded the verdict on ${id}.`,
  approve: () => 'Approved for one call.',
  'approve-always': () => 'Approved, with all later calls of this client to this tool.',
  deny: () => 'Denied.',
  'approval-remove': () => 'Removed. Its calls wait for approval again.',
  'pins-accept': name => `Accepted the changed definitions of ${name}.`,
  'pins-reject': name => `Rejected the changed definitions of ${name}.`,
  'tool-on': tool => `Turned ${tool} on.`,
  'tool-off': tool => `Turned ${tool} off: no client sees it.`,
  upgrade: name => `Upgraded ${name}.`,
  rollback: name => `Rolled ${name} back.`,
  'token-revoke': name => `Revoked the token of ${name}.`,
} satisfies Readonly<Record<string, (about: string) => string>>;

const isDone = (text: string): text is Done => Object.hasOwn(notices, text);
/** Names that a notice in a URL may contain, so that a link cannot choose its text. */
const aboutPattern = /^[\w-]{1,63}$|^\d+ results?$|^the job$/;

const sentence = (done: Done, about: string): Html => notice('good', notices[done](about));

/** Returns the notice for a page that follows a submitted form. */
export function noticeOf({ query }: DashboardRequest): Html | undefined {
  const done = query('done');
  const about = query('about');
  return isDone(done) && aboutPattern.test(about) ? sentence(done, about) : undefined;
}

export const fileOnly = failed(
  409,
  'Not here',
  'This hub does not change its config file. Change it there: the hub reads it again by itself.',
);

export const noPrompts = failed(
  409,
  'No caches',
  'This hub improves no prompts. Set OLLAMA_HOST and start it again.',
);
