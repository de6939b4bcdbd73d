import type { AuditedChange } from '#audit';
import { type Clock, type Event, createEmitter, unlessAborted, waitAtMost } from '#core';
import type { Jobs } from '#jobs';
import { openCaller } from '#policy';
import type { ListKind } from '#servers';
import { type TaskPipeline, type TaskView, taskReports } from '#tasks';
import { z } from 'zod';
import {
  type BuiltinContext,
  type BuiltinServer,
  type BuiltinTool,
  type ToolResult,
  defineTool,
  maxWaitMs,
  readOnly,
  structuredResult,
} from './builtin-server.ts';
import { recorded } from './recorded.ts';
import { beginTaskRun } from './task-run.ts';
import { whenTurned } from './when-turned.ts';

export type TasksServerNeeds = {
  readonly tasks: TaskPipeline;
  readonly jobs: Pick<Jobs, 'cancel' | 'changed' | 'get'>;
  readonly clock: Pick<Clock, 'after'>;
  /** True if the tools are listed. */
  readonly isOn: () => boolean;
  readonly changed: Event<unknown>;
  readonly record?: (change: AuditedChange) => void;
};

const id = z.string().describe('task_id of the contract.');
const repository = z.string().describe('Absolute path of the top folder of the repository.');
const changes = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };
const destructive = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

/** Creates the server `tasks`. Its clients submit contracts to the task pipeline, and follow the work on them. */
export function createTasksServer(needs: TasksServerNeeds): BuiltinServer {
  const { isOn } = needs;
  const { event: changed, fire } = createEmitter<ListKind>();
  let made: readonly BuiltinTool[] | undefined;
  whenTurned(needs, () => fire('tool'));
  return {
    name: 'tasks',
    description: 'Tasks that local models implement and review on a branch of their own.',
    tools: () => (isOn() ? (made ??= [...callerTools(needs), ...ownerTools(needs)]) : []),
    prompts: () => [],
    resources: [],
    changed,
    hasTasks: true,
  };
}

/** Returns the members of a task that a client needs. Details are in the reports. */
const briefly = ({
  id: name,
  status,
  doing,
  attempt,
  why,
  halted,
  commands,
  ...task
}: TaskView) => ({
  task_id: name,
  repository: task.repository,
  status,
  doing,
  attempt,
  branch: task.branch ?? null,
  changed_files: [...task.changedFiles],
  tokens: task.totals.promptTokens + task.totals.completionTokens,
  cost: task.totals.cost,
  next: [...commands],
  ...(why !== undefined && { why }),
  ...(halted && { halted: { ...halted } }),
  ...(task.job !== undefined && { job: task.job }),
});

/** Starts a phase. With `wait`, waits for its end, at most nine minutes, and reports progress. */
async function work(
  { tasks, clock }: Pick<TasksServerNeeds, 'tasks' | 'clock'>,
  {
    task_id: name,
    phase,
    wait,
  }: { task_id: string; phase: 'run' | 'implementer' | 'local_review'; wait: boolean },
  { principal = openCaller, signal, progress }: BuiltinContext,
): Promise<ToolResult> {
  const { job } = await tasks.begin(name, phase, principal);
  if (!wait) return structuredResult({ ...briefly(tasks.get(name)), job });
  // The client may write the id with other upper and lower case letters.
  const { id: known } = tasks.get(name);
  using _heard = tasks.events(({ task, text }) => {
    if (task.id === known) progress(`${task.status}: ${text}`);
  });
  const settled = tasks.settled(name).catch(() => undefined); // The response contains the fault.
  await unlessAborted(waitAtMost(maxWaitMs, settled, clock), signal);
  return structuredResult({ ...briefly(tasks.get(name)), job });
}

/** Creates the tools for every client that may make calls. */
function callerTools({ tasks, jobs, clock }: TasksServerNeeds): readonly BuiltinTool[] {
  return [
    defineTool({
      name: 'create',
      scope: 'call',
      title: 'Create a task',
      description:
        'Writes _handoff/TASK_CONTRACT.json into a repository and prepares its branch. Two different models are named: one implements, one reviews.',
      args: z.strictObject({
        repository,
        contract: z
          .record(z.string(), z.json())
          .describe(
            'task_id; specification: requirements[], target_file, and optionally goal, source_files[], constraints[], allowed_paths[], forbidden_paths[]; roles: implementer, local_reviewer; optionally acceptance: commands[], timeout, image; budget: tokens, minutes.',
          ),
      }),
      annotations: changes,
      async handler({ repository: path, contract }, { principal = openCaller }) {
        await tasks.create(path, contract, principal);
        return structuredResult(briefly(await tasks.setup(path, principal)));
      },
    }),
    defineTool({
      name: 'setup',
      scope: 'call',
      title: 'Set up a task',
      description:
        'Reads the contract of a repository and prepares its branch. After human_consultation, the task begins anew.',
      args: z.strictObject({ repository }),
      annotations: changes,
      handler: async ({ repository: path }, { principal = openCaller }) =>
        structuredResult(briefly(await tasks.setup(path, principal))),
    }),
    defineTool({
      name: 'run',
      scope: 'call',
      title: 'Work on a task',
      description:
        'Lets the models work: "run" goes on until a person or a judge is needed, the others do one phase. Returns at once unless "wait" is true.',
      args: z.strictObject({
        task_id: id,
        phase: z.enum(['run', 'implementer', 'local_review']).default('run'),
        wait: z
          .boolean()
          .default(false)
          .describe('true: return when the work has ended, or after 9 minutes, while it goes on.'),
      }),
      annotations: changes,
      handler: async (wanted, context) => await work({ tasks, clock }, wanted, context),
      begin: async ({ task_id: name, phase }, { principal = openCaller }) =>
        await beginTaskRun(
          { tasks, jobs, resultOf: (task, job) => structuredResult({ ...briefly(task), job }) },
          { id: name, kind: phase, principal },
        ),
    }),
    defineTool({
      name: 'status',
      scope: 'call',
      title: 'Show tasks',
      description: 'Returns the state of tasks, and which commands fit. Without task_id: of all.',
      args: z.strictObject({ task_id: id.optional() }),
      annotations: readOnly,
      async handler({ task_id: name }, { principal = openCaller }) {
        const wanted =
          name === undefined
            ? await tasks.visibleTo(principal)
            : [await tasks.requireVisible(name, principal)];
        return structuredResult({ tasks: wanted.map(briefly) });
      },
    }),
    defineTool({
      name: 'report',
      scope: 'call',
      title: 'Read a report of a task',
      description:
        'REVIEW_REQUEST.md has what a judge needs, STALL_REPORT.md and HALT.md why a person is needed.',
      args: z.strictObject({ task_id: id, name: z.enum(taskReports) }),
      annotations: readOnly,
      async handler({ task_id: name, name: report }, { principal = openCaller, signal }) {
        await tasks.requireVisible(name, principal);
        const text = await tasks.report(name, report, signal);
        return text === undefined
          ? { text: `${name} has no ${report} now`, structured: { found: false }, isError: true }
          : { text, structured: { found: true } };
      },
    }),
    defineTool({
      name: 'report_judge',
      scope: 'call',
      title: 'Judge a task',
      description:
        'Takes the verdict on a task in pending_judge_review. "fail" sends it back once with the notes, then a person is asked.',
      args: z.strictObject({
        task_id: id,
        verdict: z.enum(['pass', 'fail']),
        notes: z.string().max(20_000).optional(),
      }),
      annotations: changes,
      handler: async ({ task_id: name, verdict, notes }, { principal = openCaller }) =>
        structuredResult(briefly(await tasks.reportJudge(name, { verdict, notes }, principal))),
    }),
    defineTool({
      name: 'cancel',
      scope: 'call',
      title: 'Cancel a task',
      description: 'Ends a task and its work. The branch is kept.',
      args: z.strictObject({ task_id: id }),
      annotations: destructive,
      handler: async ({ task_id: name }, { principal = openCaller }) =>
        structuredResult(briefly(await tasks.cancel(name, principal))),
    }),
  ];
}

/** Creates the tools for clients with the administer grant. Their changes are recorded in the audit log. */
function ownerTools({ tasks, record = () => {} }: TasksServerNeeds): readonly BuiltinTool[] {
  const change = async (
    action: string,
    target: string,
    context: BuiltinContext,
    work: () => Promise<TaskView>,
  ) => structuredResult(briefly(await recorded(record, { action, target }, context, work)));

  return [
    defineTool({
      name: 'finalize',
      scope: 'administer',
      title: 'Merge a task',
      description: 'Merges the branch of a task after the verdict "pass". Ask the user first.',
      args: z.strictObject({ task_id: id }),
      annotations: destructive,
      handler: async ({ task_id: name }, context) =>
        await change('task_finalize', name, context, () =>
          tasks.finalize(name, context.principal ?? openCaller),
        ),
    }),
    defineTool({
      name: 'rollback',
      scope: 'administer',
      title: 'Roll a task back',
      description:
        'Moves the branch of a task back to a checkpoint and drops what came after it. Ask the user first.',
      args: z.strictObject({
        task_id: id,
        checkpoint: z.string().optional().describe('A commit, or "base". Default: the one before.'),
      }),
      annotations: destructive,
      handler: async ({ task_id: name, checkpoint }, context) =>
        await change('task_rollback', name, context, () =>
          tasks.rollback(name, checkpoint, context.principal ?? openCaller),
        ),
    }),
  ];
}
