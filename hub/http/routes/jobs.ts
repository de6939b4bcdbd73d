import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '#core';
import type { Job, Jobs } from '#jobs';
import { administered } from './administered.ts';
import { refuseBody } from './bodies.ts';

type Needs = { readonly jobs: Pick<Jobs, 'list' | 'get' | 'linesOf' | 'cancel'> };

/**
 * `/jobs`: the list, for everybody who may call the hub. One job with its error message and its lines, which hold what
 * servers and installers wrote, is for the owner, and so is cancelling it.
 */
export function jobRoutes(app: FastifyInstance, { jobs }: Needs): void {
  app.get('/jobs', async () => ({ jobs: jobs.list().map(describeJob) }));

  app.get<{ Params: { id: string } }>('/jobs/:id', administered, async request => {
    const job = jobs.get(request.params.id);
    return {
      ...describeJob(job),
      ...withMessage(job),
      result: job.state === 'done' ? job.result : null,
      lines: jobs.linesOf(job.id),
    };
  });

  app.delete<{ Params: { id: string } }>('/jobs/:id', administered, async request => {
    refuseBody(request.body, 'DELETE /jobs/{id}');
    const job = await jobs.cancel(request.params.id);
    return { ...describeJob(job), ...withMessage(job) };
  });
}

function describeJob(job: Job): JsonObject {
  const endedAt = job.state === 'running' ? undefined : job.endedAt;
  return {
    id: job.id,
    kind: job.kind,
    title: job.title,
    state: job.state,
    progress: job.progress ?? null,
    started_at: new Date(job.startedAt).toISOString(),
    ended_at: endedAt === undefined ? null : new Date(endedAt).toISOString(),
    principal: job.principal,
    error: 'error' in job ? { code: job.error.code } : null,
  };
}

const withMessage = (job: Job) => ('error' in job ? { error: job.error } : {});
