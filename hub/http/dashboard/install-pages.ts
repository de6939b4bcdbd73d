import type { FastifyReply, FastifyRequest } from 'fastify';
import { HubError } from '#core';
import {
  type Failure,
  type InstallForm,
  type Job,
  emptyForm,
  install,
  job,
  jobPartial,
  paths,
} from '#dashboard';
import { fileOnly, noticeOf } from './actions.ts';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { formOf, paramOf } from './request.ts';

/** The pages of installs. */
export function installPages(
  given: Given,
): Pick<DashboardAnswers, 'install' | 'beginInstall' | 'job' | 'jobPartial'> {
  const { page, part, redact, refuse } = given;
  const title = { title: 'Install', at: 'install', events: paths.events } as const;
  const jobs = given.jobs;
  /** Answers with the job that is asked for, where there is one. */
  const withJob = (
    request: FastifyRequest,
    reply: FastifyReply,
    show: (found: Job) => FastifyReply,
  ) => {
    const found = jobs?.find(paramOf(request, 'id'));
    return found ? show(found) : refuse(request, reply, 404, unknownJob);
  };

  return {
    async install(request, reply) {
      if (!jobs) return refuse(request, reply, 409, fileOnly);
      return page(reply, { ...title, main: install(emptyForm, jobs.all, undefined) });
    },
    async beginInstall(request, reply) {
      if (!jobs) return refuse(request, reply, 409, fileOnly);
      const form = installFormOf(request);
      const confirm = formOf(request).getAll('confirm');
      try {
        const asked = await jobs.review(form);
        const names = asked.map(({ name }) => name);
        if (names.every(name => confirm.includes(name)))
          return reply.redirect(paths.job(jobs.begin(form, names)), 303);
        const shown = asked.map(({ name, message }) => ({
          name,
          message: redact(message),
          isAgreed: confirm.includes(name),
        }));
        return page(reply, { ...title, main: install(form, jobs.all, undefined, shown) }, 409);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const main = install(form, jobs.all, redact(error.message));
        return page(reply, { ...title, main }, 400);
      }
    },
    job: async (request, reply) =>
      withJob(request, reply, view => {
        const reloads = view.state === 'running' && { reloadSeconds: 3 };
        const notice = noticeOf(request);
        return page(reply, { ...title, main: job(view), notice, ...reloads });
      }),
    jobPartial: async (request, reply) =>
      withJob(request, reply, view => part(reply, jobPartial(view))),
  };
}

const unknownJob: Failure = {
  title: 'Not found',
  message: 'No such install is known since the hub was started.',
};

function installFormOf(request: FastifyRequest): InstallForm {
  const form = formOf(request);
  const text = (name: keyof InstallForm) => form.get(name) ?? '';
  return {
    package: text('package'),
    name: text('name'),
    transport: text('transport'),
    network: text('network'),
    args: text('args'),
    env: text('env'),
  };
}
