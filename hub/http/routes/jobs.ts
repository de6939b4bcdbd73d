import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '#core';
import type { Job, Jobs } from '#jobs';
import { administered } from '../guard.ts';
import { changing } from './audit.ts';
import type { Follow } from './events.ts';
import { type Identified, refuseBody, timeOf } from './input.ts';

/** Maximum number of events that one write sends. Above it, the oldest are dropped. */
const maxWaiting = 50;

/**
 * Adds `/jobs`. Every caller may read the list and the events of a job. Only the owner may cancel a job or read its
 * error message and lines, which contain output of servers and installers.
 */
export function jobRoutes(app: FastifyInstance, jobs: Jobs, follow: Follow): void {
  app.get('/jobs', async () => ({ jobs: jobs.list().map(describeJob) }));

  app.get<Identified>('/jobs/:id', administered, async request => {
    const job = jobs.get(request.params.id);
    return {
      ...describeJob(job),
      ...withMessage(job),
      result: job.state === 'done' ? job.result : null,
      lines: jobs.linesOf(job.id),
    };
  });

  app.get<Identified>('/jobs/:id/events', async (request, reply) => {
    const { id } = request.params;
    let last = jobs.get(id);
    const waiting = [last];
    return follow(reply, {
      listen: changed =>
        jobs.changed(() => {
          // An ended job may have been removed from the list.
          const job = last.state === 'running' ? jobs.get(id) : last;
          if (job === last) return;
          last = job;
          waiting.push(job);
          if (waiting.length > maxWaiting) waiting.shift();
          changed();
        }),
      tell(events) {
        for (const job of waiting.splice(0))
          events.send('job', describeJob(job), job.state !== 'running');
        if (last.state !== 'running') events[Symbol.dispose]();
      },
    });
  });

  app.delete<Identified>('/jobs/:id', changing('job_cancel'), async request => {
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
    started_at: timeOf(job.startedAt),
    ended_at: endedAt === undefined ? null : timeOf(endedAt),
    principal: job.principal,
    error: 'error' in job ? { code: job.error.code } : null,
  };
}

const withMessage = (job: Job) => ('error' in job ? { error: job.error } : {});
