import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Failure, type Html, notice, paths, withQuery } from '#dashboard';
import { type Server, restartNow, startNow } from '#servers';
import { HubError, messageOf } from '#core';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { formOf, isHtmx, paramOf, queryOf } from './request.ts';

type Done = keyof typeof said;

/** The notices after an action. */
const said = {
  start: 'is being started.',
  stop: 'is being stopped. Calls do not start it again.',
  restart: 'is being restarted.',
  remove: 'was removed.',
  'clear-cache': 'cleared from the caches.',
  'cancel-install': 'is being cancelled.',
} as const;

const isDone = (text: string): text is Done => Object.hasOwn(said, text);
/** The notices that the address of a page may name, so that a link cannot choose the text. */
const aboutPattern = /^[\w-]{1,32}$|^\d+ results?$|^The job$/;

const sentence = (done: Done, about: string): Html => notice('good', `${about} ${said[done]}`);

/** The notice for the page after a form. */
export function noticeOf(request: FastifyRequest): Html | undefined {
  const done = queryOf(request, 'done');
  const about = queryOf(request, 'about');
  return isDone(done) && aboutPattern.test(about) ? sentence(done, about) : undefined;
}

type Names = 'start' | 'stop' | 'restart' | 'remove' | 'clearCache' | 'cancelInstall';

/** The actions. htmx gets a notice, other clients are redirected to a page with it. */
export function actions(given: Given): Pick<DashboardAnswers, Names> {
  const { log, servers, part, refuse } = given;

  function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { done, about, page }: { readonly done: Done; readonly about: string; readonly page: string },
  ): FastifyReply {
    if (isHtmx(request)) return part(reply, sentence(done, about));
    return reply.redirect(withQuery(page, { done, about }), 303);
  }

  /** Does not wait for the end: the state of the server shows the progress. */
  const act =
    (done: 'start' | 'stop' | 'restart', work: (server: Server) => Promise<unknown>) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const server = servers.get(paramOf(request, 'name'));
      const { name, enabled } = server.config;
      if (!enabled)
        throw new HubError(
          'HUB_SERVER_DISABLED',
          `${name} is disabled in the config. Set "enabled" to true in its entry first`,
          { data: { server: name } },
        );
      work(server).catch((error: unknown) =>
        log.info({ server: name, error: messageOf(error) }, `the ${done} came to nothing`),
      );
      return answer(request, reply, { done, about: name, page: paths.server(name) });
    };

  return {
    start: act('start', startNow),
    stop: act('stop', server => server.stop(true)),
    restart: act('restart', restartNow),
    async remove(request, reply) {
      const { config } = servers.get(paramOf(request, 'name'));
      if (!given.installs) return refuse(request, reply, 409, fileOnly);
      const purge = formOf(request).get('purge') === 'true';
      await given.installs.remove(config.name, { purge });
      return answer(request, reply, { done: 'remove', about: config.name, page: paths.overview });
    },
    async clearCache(request, reply) {
      const prompts = await given.prompts?.();
      if (!prompts) return refuse(request, reply, 409, noPrompts);
      const client = (formOf(request).get('client') ?? '').trim();
      const { exact, semantic } = await prompts.enhancer.forget(client || undefined);
      given.changes.note('caches');
      given.changes.note('stats');
      const about = counted(exact + semantic);
      return answer(request, reply, { done: 'clear-cache', about, page: paths.caches });
    },
    async cancelInstall(request, reply) {
      const id = paramOf(request, 'id');
      if (given.jobs.find(id)) void given.jobs.cancel(id);
      return answer(request, reply, {
        done: 'cancel-install',
        about: 'The job',
        page: paths.job(id),
      });
    },
  };
}

/** The error if installs are not available. */
export const fileOnly: Failure = {
  title: 'Not here',
  message:
    'This hub does not change its config file. Change it there: the hub reads it again by itself.',
};

/** The error if there are no caches. */
export const noPrompts: Failure = {
  title: 'No caches',
  message: 'This hub improves no prompts. Set OLLAMA_HOST and start it again.',
};

const counted = (entries: number) => (entries === 1 ? '1 result' : `${entries} results`);
