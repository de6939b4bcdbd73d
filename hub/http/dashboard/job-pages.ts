import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Failure, type JobView, job, jobPartial, jobs, jobsPartial, paths } from '#dashboard';
import { installKind } from '#installs';
import type { Job, Jobs } from '#jobs';
import { noticeOf } from './actions.ts';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { paramOf } from './request.ts';

type Names = 'jobs' | 'jobsPartial' | 'job' | 'jobPartial';

/** The list of jobs, and the page of each. */
export function jobPages(given: Given): Pick<DashboardAnswers, Names> {
  const { page, part, refuse, visitorOf } = given;
  const frame = { title: 'Jobs', at: 'jobs', events: paths.events } as const;
  const views = () => given.jobs.list().map(one => jobView(one, given.jobs));
  /** Answers 404 if the job is unknown. */
  const withJob = (
    request: FastifyRequest,
    reply: FastifyReply,
    show: (found: JobView) => FastifyReply,
  ) => {
    const found = given.jobs.find(paramOf(request, 'id'));
    return found ? show(jobView(found, given.jobs)) : refuse(request, reply, 404, unknownJob);
  };

  return {
    async jobs(request, reply) {
      const main = jobs(views(), visitorOf(request).rights);
      return page(reply, { ...frame, main, notice: noticeOf(request) });
    },
    jobsPartial: async (request, reply) =>
      part(reply, jobsPartial(views(), visitorOf(request).rights)),
    job: async (request, reply) =>
      withJob(request, reply, view => {
        const reloads = view.state === 'running' && { reloadSeconds: 3 };
        return page(reply, { ...frame, main: job(view), notice: noticeOf(request), ...reloads });
      }),
    jobPartial: async (request, reply) =>
      withJob(request, reply, view => part(reply, jobPartial(view))),
  };
}

export function jobView(found: Job, { linesOf }: Pick<Jobs, 'linesOf'>): JobView {
  const { id, kind, title, state, progress } = found;
  const { name, warnings } = found.state === 'done' ? found.result : {};
  return {
    id,
    title,
    state,
    progress: progress?.text ?? '',
    lines: linesOf(id),
    name: kind === installKind && typeof name === 'string' ? name : undefined,
    warnings: Array.isArray(warnings) ? warnings.map(String) : [],
    problem: 'error' in found ? found.error.message : undefined,
  };
}

const unknownJob: Failure = {
  title: 'Not found',
  message: 'The hub has no such job: it stores only the newest ones.',
};
