import type { FastifyReply, FastifyRequest } from 'fastify';
import { HubError } from '#core';
import {
  type Failure,
  type InstallForm,
  type JobView,
  emptyForm,
  install,
  job,
  jobPartial,
  paths,
} from '#dashboard';
import { installKind } from '#installs';
import type { Job } from '#jobs';
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
  const { forms, jobs } = given;
  const viewOf = (found: Job): JobView => describe(found, jobs.linesOf(found.id));
  const views = () => jobs.list().map(viewOf);
  /** Answers with the job that is asked for, where there is one. */
  const withJob = (
    request: FastifyRequest,
    reply: FastifyReply,
    show: (found: JobView) => FastifyReply,
  ) => {
    const found = jobs.find(paramOf(request, 'id'));
    return found ? show(viewOf(found)) : refuse(request, reply, 404, unknownJob);
  };

  return {
    async install(request, reply) {
      if (!forms) return refuse(request, reply, 409, fileOnly);
      return page(reply, { ...title, main: install(emptyForm, views(), undefined) });
    },
    async beginInstall(request, reply) {
      if (!forms) return refuse(request, reply, 409, fileOnly);
      const form = installFormOf(request);
      const confirm = formOf(request).getAll('confirm');
      try {
        const asked = await forms.review(form);
        const names = asked.map(({ name }) => name);
        if (names.every(name => confirm.includes(name))) {
          const id = forms.begin(form, names, given.principalOf(request).name);
          return reply.redirect(paths.job(id), 303);
        }
        const shown = asked.map(({ name, message }) => ({
          name,
          message: redact(message),
          isAgreed: confirm.includes(name),
        }));
        return page(reply, { ...title, main: install(form, views(), undefined, shown) }, 409);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const main = install(form, views(), redact(error.message));
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

function describe(found: Job, lines: JobView['lines']): JobView {
  const { id, kind, title, state, progress } = found;
  const { name, warnings } = found.state === 'done' ? found.result : {};
  return {
    id,
    title,
    state,
    progress: progress?.text ?? '',
    lines,
    name: kind === installKind && typeof name === 'string' ? name : undefined,
    warnings: Array.isArray(warnings) ? warnings.map(String) : [],
    problem: 'error' in found ? found.error.message : undefined,
  };
}

const unknownJob: Failure = {
  title: 'Not found',
  message: 'The hub keeps no such job: newer jobs have taken its place.',
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
