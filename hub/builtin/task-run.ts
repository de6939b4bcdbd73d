import { HubError, createEmitter } from '#core';
import type { Job, Jobs } from '#jobs';
import type { Principal } from '#policy';
import type { TaskPipeline, TaskRunKind, TaskView } from '#tasks';
import type { BuiltinTask, ToolResult } from './builtin-server.ts';

type Needs = {
  readonly tasks: Pick<TaskPipeline, 'begin' | 'events' | 'get'>;
  readonly jobs: Pick<Jobs, 'cancel' | 'changed' | 'get'>;
  readonly resultOf: (task: TaskView, job: string) => ToolResult;
};

type Run = { readonly id: string; readonly kind: TaskRunKind; readonly principal: Principal };

/**
 * Runs phases of a pipeline task as an MCP task. The MCP task ends with the job, and cancelling it cancels the job: the
 * pipeline task keeps its status. Rejects like `TaskPipeline.begin`.
 */
export async function beginTaskRun(
  { tasks, jobs, resultOf }: Needs,
  { id, kind, principal }: Run,
): Promise<BuiltinTask> {
  const { event: changed, fire } = createEmitter<undefined>();
  const { job } = await tasks.begin(id, kind, principal);
  const name = tasks.get(id).id;

  async function result(): Promise<ToolResult> {
    const { promise: ended, resolve } = Promise.withResolvers<Job>();
    const look = () => {
      const found = jobs.get(job);
      if (found.state !== 'running') resolve(found);
    };
    using _changed = jobs.changed(look);
    using _heard = tasks.events(({ task }) => {
      if (task.id === name) fire(undefined);
    });
    look();
    const { state } = await ended;
    if (state === 'cancelled')
      throw new HubError('HUB_CALL_CANCELLED', `the work on task ${name} was cancelled`);
    return resultOf(tasks.get(name), job);
  }

  return {
    id: job,
    doing() {
      const { status, doing } = tasks.get(name);
      return `${status}: ${doing}`;
    },
    changed,
    result: result(),
    cancel: () => jobs.cancel(job),
  };
}
