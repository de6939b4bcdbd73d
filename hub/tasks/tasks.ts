import { type Clock, type Log, HubError, createEmitter, messageOf, neverAborted } from '#core';
import type { Job, Jobs, OpenJob } from '#jobs';
import { type Principal, policyNameOf } from '#policy';
import type { Repositories, Repository } from '#repositories';
import { requireCheckedOut } from './branch-steps.ts';
import { checkpointOf } from './checkpoint-of.ts';
import { parseContract } from './contract.ts';
import { describeEvent } from './describe-event.ts';
import { requireFitting, requireSameContract } from './fitting.ts';
import { hasContract, readContract, readJudgement, readReport, writeHandoff } from './handoff.ts';
import { type SlotLimits, createSlots } from './slots.ts';
import { createTaskList, hasEnded, unknownTask } from './task-list.ts';
import { type RunnerNeeds, type TaskRunner, createTaskRunner, pipeline } from './task-runner.ts';
import { type TaskStoreNeeds, createTaskStore } from './task-store.ts';
import type { TaskCommand } from './task-events.ts';
import type { TaskEvent, TaskPipeline, TaskView } from './task-types.ts';
import { viewOf } from './task-view.ts';

type TasksNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Removes secrets from a text. */
  readonly redact: (text: string) => string;
  readonly repositories: Repositories;
  readonly jobs: Pick<Jobs, 'begin' | 'onResume'>;
  readonly store: Omit<TaskStoreNeeds, 'log'>;
  readonly models: RunnerNeeds['perform']['models'];
  readonly identity: { readonly hubId: string; readonly runId: string };
};

type TasksOptions = {
  /** Limits of the active config. */
  readonly limits: () => SlotLimits;
  readonly strategy: RunnerNeeds['perform']['strategy'];
  readonly costOf: RunnerNeeds['perform']['costOf'];
};

/** Kind of the jobs of tasks. */
const jobKind = 'task';
const maxDiffBytes = 2 ** 20;
/** Creates the task pipeline. Its service reads the stored tasks when it starts. */
export function createTasks(options: TasksOptions, needs: TasksNeeds): TaskPipeline {
  const { clock, redact, repositories, jobs } = needs;
  const log = needs.log.child({ part: 'tasks' });
  const { event: events, fire } = createEmitter<TaskEvent>();
  const slots = createSlots(options.limits);
  /** Jobs of the previous run, by id, until the stored tasks are read. */
  const resumed = new Map<string, OpenJob>();

  jobs.onResume(jobKind, (job: Job, open) => {
    resumed.set(job.id, open);
    return reason => {
      for (const task of tasks.all()) if (task.state.job === job.id) task.interrupt(job.id, reason);
    };
  });

  const needsOfRunner: RunnerNeeds = {
    repositories,
    slots,
    log,
    lease: { clock, log, ...needs.identity },
    perform: {
      models: needs.models,
      clock,
      log,
      redact,
      strategy: options.strategy,
      costOf: options.costOf,
    },
  };

  const tasks = createTaskList({
    clock,
    store: createTaskStore({ ...needs.store, log }),
    runnerOf(stored) {
      const runner = createTaskRunner(stored, needsOfRunner);
      runner.changed(event => {
        fire({ task: viewOf(runner.state, redact), text: redact(describeEvent(event)) });
      });
      return runner;
    },
  });

  const view = (task: TaskRunner): TaskView => viewOf(task.state, redact);

  async function withRepository<T>(
    path: string,
    principal: Principal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    await using repository = await repositories.open(path, principal, neverAborted);
    return await work(repository);
  }

  const mayUse = async ({ state }: TaskRunner, principal: Principal): Promise<boolean> =>
    await repositories.requireAllowed(state.repository, principal).then(
      () => true,
      () => principal.grants.administer,
    );

  async function visibleTo(principal: Principal): Promise<readonly TaskRunner[]> {
    const visible: TaskRunner[] = [];
    for (const task of tasks.all()) if (await mayUse(task, principal)) visible.push(task);
    return visible;
  }

  /** Returns a task. For a principal that may not use its repository, the task is unknown. */
  async function requireVisible(id: string, principal: Principal): Promise<TaskRunner> {
    const task = tasks.find(id);
    if (task && (await mayUse(task, principal))) return task;
    throw unknownTask(
      id,
      (await visibleTo(principal)).map(({ state }) => state.contract.task_id),
    );
  }

  /** Like `requireVisible`, but also rejects if the repository cannot be used now. */
  async function requireTask(id: string, principal: Principal): Promise<TaskRunner> {
    const task = await requireVisible(id, principal);
    await repositories.requireAllowed(task.state.repository, principal);
    return task;
  }

  /** Applies a command, and resolves when its steps have ended. */
  async function perform(task: TaskRunner, command: TaskCommand): Promise<TaskView> {
    await task.dispatch(command);
    await task.settled();
    return view(task);
  }

  const requireOwner = (principal: Principal, what: string) => {
    if (!principal.grants.administer)
      throw new HubError('HUB_OWNER_ONLY', `${what} needs the owner's key`);
  };

  return {
    service: {
      async start() {
        await tasks.load();
        for (const task of tasks.all()) {
          const { job } = task.state;
          task.recover(job === undefined ? undefined : resumed.get(job));
          if (job !== undefined) resumed.delete(job);
        }
        for (const open of resumed.values())
          open.failed(new HubError('HUB_TASK_UNKNOWN', 'the task of this job is not stored'));
        resumed.clear();
      },
      async stop() {
        await Promise.all(tasks.all().map(task => task.stop()));
      },
    },
    list: () => tasks.all().map(view).toReversed(),
    get: id => view(tasks.get(id)),
    visibleTo: async principal => (await visibleTo(principal)).map(view).reverse(),
    requireVisible: async (id, principal) => view(await requireVisible(id, principal)),
    findByRepository(path) {
      const inside = (root: string) => path === root || path.startsWith(`${root}/`);
      const found = tasks.all().filter(({ state }) => inside(state.repository));
      const task = found.findLast(one => !hasEnded(one)) ?? found.at(-1);
      return task && view(task);
    },
    async create(path, written, principal) {
      const contract = parseContract(written, 'the contract');
      return await withRepository(path, principal, async repository => {
        tasks.requireFree(repository.root, contract.task_id);
        const active = tasks.activeIn(repository.root);
        if (!active) {
          await requireCheckedOut(repository, neverAborted);
          if (await hasContract(repository, neverAborted)) await refuseOther(repository);
        }
        const task = await tasks.add(repository.root, contract, principal);
        requireSameContract(task.state, contract);
        // A person may have edited the file of a task that exists.
        if (!active || !(await hasContract(repository, neverAborted)))
          await writeHandoff(task.state, repository, redact, neverAborted);
        return view(task);
      });
    },
    async setup(path, principal) {
      return await withRepository(path, principal, async repository => {
        const active = tasks.activeIn(repository.root);
        // After a crash, the files of the task may not be written yet.
        if (active?.state.step.kind === 'idle') await active.settled().catch(() => undefined); // The error was logged.
        const contract = await readContract(repository, neverAborted);
        const known = tasks.find(contract.task_id);
        if (!known && !['proposal', 'pending_implementer'].includes(contract.status))
          throw new HubError(
            'HUB_TASK_STATE',
            `task ${contract.task_id} is ${contract.status} by its contract, and this hub does not know it. Set "status" to "proposal" to begin it here`,
          );
        const task = await tasks.add(repository.root, contract, principal);
        return await perform(task, { type: 'setup', contract });
      });
    },
    async begin(id, kind, principal) {
      const task = await requireTask(id, principal);
      requireFitting(task.state, { type: 'begin', kind, job: '' });
      const contract = await editedContract(task, principal);
      // Reserved until the state is stored and the work has its slot.
      using _promised = slots.reserve();
      const open = jobs.begin({
        kind: jobKind,
        title: `Task ${task.state.contract.task_id}: ${kind.replace('_', ' ')}`,
        principal: policyNameOf(principal),
        cancel: reason => task.interrupt(open.id, reason),
      });
      try {
        await task.dispatch(
          { type: 'begin', kind, job: open.id, ...(contract && { contract }) },
          open,
        );
      } catch (error) {
        open.failed(error);
        throw error;
      }
      return { job: open.id };
    },
    settled: async id => await tasks.get(id).settled(),
    async reportJudge(id, given, principal) {
      const task = await requireTask(id, principal);
      const { verdict, notes } =
        given ??
        (await withRepository(task.state.repository, pipeline, repository =>
          readJudgement(repository, neverAborted),
        ));
      return await perform(task, {
        type: 'judge',
        verdict,
        ...(notes !== undefined && { notes }),
      });
    },
    async finalize(id, principal) {
      requireOwner(principal, 'finalize');
      return await perform(tasks.get(id), { type: 'finalize' });
    },
    async cancel(id, principal) {
      // Also a task whose repository is gone.
      const task = await requireVisible(id, principal);
      await task.dispatch({ type: 'cancel' });
      await task
        .settled()
        .catch((error: unknown) =>
          log.warn({ task: id, error: messageOf(error) }, 'the worktree could not be removed yet'),
        );
      return view(task);
    },
    async rollback(id, checkpoint, principal) {
      requireOwner(principal, 'rollback');
      const task = tasks.get(id);
      const commit = checkpointOf(task.state, checkpoint);
      return await perform(task, { type: 'rollback', commit });
    },
    async diff(id, signal) {
      const { base, branch, repository: path } = tasks.get(id).state;
      if (base === undefined || branch === undefined) return { text: '', isTruncated: false };
      await using repository = await repositories.open(path, pipeline, signal);
      const to = await repository.resolve(`refs/heads/${branch}`, signal);
      const diff = await repository.diff({ from: base, to, maxBytes: maxDiffBytes }, signal);
      return { ...diff, text: redact(diff.text) };
    },
    async report(id, name, signal) {
      const { repository: path } = tasks.get(id).state;
      await using repository = await repositories.open(path, pipeline, signal);
      return await readReport(repository, name, signal);
    },
    events,
  };

  /** Reads the contract of a task that was not set up, which a person may have edited; undefined for other tasks. */
  async function editedContract({ state }: TaskRunner, principal: Principal) {
    if (state.status !== 'proposal') return undefined;
    return await withRepository(state.repository, principal, async repository => {
      const contract = await readContract(repository, neverAborted);
      tasks.requireFree(repository.root, contract.task_id);
      return contract;
    });
  }

  /** Rejects if the repository has a contract of an unknown task: it may be a person's work, so it stays. */
  async function refuseOther(repository: Repository): Promise<void> {
    const found = await readContract(repository, neverAborted).catch(() => undefined); // An unreadable contract is refused as well.
    const known = found && tasks.find(found.task_id);
    if (known && hasEnded(known)) return;
    throw new HubError(
      'HUB_TASK_EXISTS',
      `${repository.root} has a contract already (${found?.task_id ?? 'unreadable'}): set it up with "agenthub task setup", or remove _handoff/TASK_CONTRACT.json`,
    );
  }
}
