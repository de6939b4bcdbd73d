import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HubError, shown } from '#core';
import {
  type TaskJudgement,
  type TaskPipeline,
  type TaskRunKind,
  type TaskView,
  taskReports,
} from '#tasks';
import type { RouteAdmission } from '../admission.ts';
import { sameAs } from '../tool-policy.ts';
import { changing } from './audit.ts';
import { type Follow, hangUpOf } from './events.ts';
import {
  type Identified,
  invalid,
  misfit,
  readMembers,
  readQuery,
  refuseBody,
  snakeCased,
} from './input.ts';

type OfReport = { readonly Params: { readonly id: string; readonly name: string } };

type Needs = {
  readonly tasks: TaskPipeline;
  readonly admission: Pick<RouteAdmission, 'principalOf'>;
  readonly follow: Follow;
};

const maxWaiting = 100;
const phases: readonly TaskRunKind[] = ['run', 'implementer', 'local_review'];

/**
 * Adds `/tasks`. Callers may use tasks of repositories below the folders in `repositories` of the config, if the policy
 * lets them call the same tool of the server `tasks`. Only the owner may use other repositories, `finalize` and
 * `rollback`.
 */
export function taskRoutes(app: FastifyInstance, { tasks, admission, follow }: Needs): void {
  const of = (request: FastifyRequest) => admission.principalOf(request);

  /** Returns the task in the path of a request. Rejects with HUB_TASK_UNKNOWN if the caller may not use its repository. */
  const visible = async (request: FastifyRequest<Identified>): Promise<TaskView> =>
    await tasks.requireVisible(request.params.id, of(request));

  app.get('/tasks', sameAs('tasks', 'status'), async request => {
    const { repository } = readQuery(request, ['repository']);
    const all = await tasks.visibleTo(of(request));
    if (repository === undefined) return { tasks: all.map(snakeCased) };
    const found = tasks.findByRepository(repository);
    return { tasks: all.filter(({ id }) => id === found?.id).map(snakeCased) };
  });

  app.post('/tasks', sameAs('tasks', 'create', 'task_create'), async (request, reply) => {
    const { repository, contract } = readMembers(request.body, ['repository', 'contract']);
    const task = await tasks.create(readText('repository', repository), contract, of(request));
    return await reply.code(201).send(snakeCased(task));
  });

  app.post('/tasks/setup', sameAs('tasks', 'setup', 'task_setup'), async request => {
    const { repository } = readMembers(request.body, ['repository']);
    return snakeCased(await tasks.setup(readText('repository', repository), of(request)));
  });

  app.get<Identified>('/tasks/:id', sameAs('tasks', 'status'), async request =>
    snakeCased(await visible(request)),
  );

  app.post<Identified>(
    '/tasks/:id/run',
    sameAs('tasks', 'run', 'task_run'),
    async (request, reply) => {
      const { phase = 'run' } = readMembers(request.body, ['phase']);
      const kind = phases.find(one => one === phase);
      if (!kind) throw invalid(`phase: ${shown(phase)} is not allowed: write ${phases.join(', ')}`);
      return await reply.code(202).send(await tasks.begin(request.params.id, kind, of(request)));
    },
  );

  app.post<Identified>(
    '/tasks/:id/judge',
    sameAs('tasks', 'report_judge', 'task_judge'),
    async request => {
      const judgement = readJudgement(request);
      return snakeCased(await tasks.reportJudge(request.params.id, judgement, of(request)));
    },
  );

  app.post<Identified>(
    '/tasks/:id/cancel',
    sameAs('tasks', 'cancel', 'task_cancel'),
    async request => {
      refuseBody(request.body, 'POST /tasks/{id}/cancel');
      return snakeCased(await tasks.cancel(request.params.id, of(request)));
    },
  );

  app.post<Identified>('/tasks/:id/finalize', changing('task_finalize'), async request => {
    refuseBody(request.body, 'POST /tasks/{id}/finalize');
    return snakeCased(await tasks.finalize(request.params.id, of(request)));
  });

  app.post<Identified>(
    '/tasks/:id/rollback',
    changing('task_rollback', ['checkpoint']),
    async request => {
      const { checkpoint } = readMembers(request.body, ['checkpoint']);
      const commit = checkpoint === undefined ? undefined : readText('checkpoint', checkpoint);
      return snakeCased(await tasks.rollback(request.params.id, commit, of(request)));
    },
  );

  app.get<Identified>('/tasks/:id/diff', sameAs('tasks', 'report'), async (request, reply) => {
    const { id } = await visible(request);
    const { text, isTruncated } = await tasks.diff(id, hangUpOf(reply));
    return { diff: text, is_truncated: isTruncated };
  });

  app.get<OfReport>(
    '/tasks/:id/reports/:name',
    sameAs('tasks', 'report'),
    async (request, reply) => {
      const { id } = await visible(request);
      const { name } = request.params;
      const known = taskReports.find(one => one === name);
      if (!known)
        throw invalid(`${shown(name)} is not a report: ask for ${taskReports.join(', ')}`);
      const text = await tasks.report(id, known, hangUpOf(reply));
      if (text === undefined)
        throw new HubError('HUB_TASK_UNKNOWN', `task ${id} has no ${name} now`);
      return await reply
        .header('content-type', 'text/markdown; charset=utf-8')
        .header('x-content-type-options', 'nosniff')
        .send(text);
    },
  );

  app.get<Identified>('/tasks/:id/events', sameAs('tasks', 'status'), async (request, reply) => {
    const task = await visible(request);
    const { id } = task;
    const waiting: object[] = [snakeCased({ task, text: task.history.at(-1)?.text ?? 'created' })];
    return follow(reply, {
      listen(changed) {
        queueMicrotask(changed);
        return tasks.events(event => {
          if (event.task.id !== id) return;
          waiting.push(snakeCased(event));
          if (waiting.length > maxWaiting) waiting.shift();
          changed();
        });
      },
      async tell(events) {
        // A reload can take the repository from the caller.
        const found = await visible(request).catch(() => undefined); // The stream ends.
        if (!found) return events[Symbol.dispose]();
        for (const event of waiting.splice(0)) events.send('task', event);
      },
    });
  });
}

function readText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(`${name}: ${misfit(value)}: write a string`);
}

/** Reads the judgement in a body; undefined if it is in JUDGE_REPORT.md instead. */
function readJudgement(request: FastifyRequest): TaskJudgement | undefined {
  const { verdict, notes } = readMembers(request.body, ['verdict', 'notes']);
  if (verdict === undefined && notes === undefined) return undefined;
  if (verdict !== 'pass' && verdict !== 'fail')
    throw invalid(`verdict: ${misfit(verdict)}: write "pass" or "fail"`);
  return { verdict, ...(notes !== undefined && { notes: readText('notes', notes) }) };
}
