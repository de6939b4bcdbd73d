import { type Clock, HubError, type Log, createEmitter, messageOf } from '#core';
import type { Job, Jobs, OpenJob } from '#jobs';
import { type Principal, policyNameOf } from '#policy';
import type { Repositories, Repository } from '#repositories';
import { type TaskContract, parseContract } from './contract.ts';
import { describeEvent } from './describe-event.ts';
import { requireFitting } from './fitting.ts';
import { hasContract, readContract, readJudgement, readReport, writeHandoff } from './handoff.ts';
import { newTask } from './new-task.ts';
import { type SlotLimits, createSlots } from './slots.ts';
import { type RunnerNeeds, type TaskRunner, createTaskRunner } from './task-runner.ts';
import { type TaskStoreNeeds, createTaskStore } from './task-store.ts';
import type { TaskEvent, TaskPipeline, TaskView } from './task-types.ts';
import { viewOf } from './task-view.ts';

export type TasksNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
  readonly repositories: Repositories;
  readonly jobs: Pick<Jobs, 'begin' | 'onResume'>;
  readonly store: Omit<TaskStoreNeeds, 'log'>;
  readonly models: RunnerNeeds['perform']['models'];
  readonly identity: { readonly hubId: string; readonly runId: string };
};

export type TasksOptions = {
  /** Of the config in force. */
  readonly limits: () => SlotLimits;
  readonly strategy: RunnerNeeds['perform']['strategy'];
};

/** Kind of the jobs of tasks. */
const jobKind = 'task';
/** Tasks that are stored. The oldest that have ended are removed first. */
const maxTasks = 200;
const maxDiffBytes = 2 ** 20;
/** The pipeline itself. Who may name a repository was checked by the command before. */
const pipeline: Principal = { kind: 'job', name: 'tasks', grants: { administer: true } };
const never = new AbortController().signal;

const hasEnded = ({ state }: TaskRunner) => state.status === 'done' || state.status === 'cancelled';

/** Creates the task pipeline, whose tasks are read when its service starts. */
export function createTasks(options: TasksOptions, needs: TasksNeeds): TaskPipeline {
  const { clock, redact, repositories, jobs } = needs;
  const log = needs.log.child({ part: 'tasks' });
  const { event: events, fire } = createEmitter<TaskEvent>();
  const store = createTaskStore({ ...needs.store, log });
  const slots = createSlots(options.limits);
  /** By id in lower case, oldest first. */
  const tasks = new Map<string, TaskRunner>();
  /** Jobs of the run before, until the tasks are read. */
  const resumed = new Map<string, OpenJob>();

  jobs.onResume(jobKind, (job: Job, open) => {
    resumed.set(job.id, open);
    return reason => {
      for (const task of tasks.values()) if (task.state.job === job.id) task.interrupt(reason);
    };
  });

  const needsOfRunner: RunnerNeeds = {
    repositories,
    slots,
    log,
    lease: { clock, log, ...needs.identity },
    perform: { models: needs.models, clock, log, redact, strategy: options.strategy },
  };

  function add(runner: TaskRunner): TaskRunner {
    tasks.set(runner.state.contract.task_id.toLowerCase(), runner);
    runner.changed(event => {
      fire({ task: viewOf(runner.state, redact), text: redact(describeEvent(event)) });
    });
    return runner;
  }

  const find = (id: string) => tasks.get(id.toLowerCase());

  function get(id: string): TaskRunner {
    const task = find(id);
    if (task) return task;
    const known = [...tasks.values()].map(({ state }) => state.contract.task_id).slice(-10);
    throw new HubError(
      'HUB_TASK_UNKNOWN',
      `there is no task ${JSON.stringify(id.slice(0, 70))}${known.length > 0 ? `. There are ${known.join(', ')}` : ': make one with "agenthub task new"'}`,
    );
  }

  const view = (task: TaskRunner): TaskView => viewOf(task.state, redact);

  async function withRepository<T>(
    path: string,
    principal: Principal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    await using repository = await repositories.open(path, principal, never);
    return await work(repository);
  }

  /** The task of an id, for a caller that may use its repository. */
  async function requireTask(id: string, principal: Principal): Promise<TaskRunner> {
    const task = get(id);
    await repositories.requireAllowed(task.state.repository, principal);
    return task;
  }

  const activeIn = (root: string) =>
    [...tasks.values()].find(task => task.state.repository === root && !hasEnded(task));

  /** Refuses a second task in a repository, and an id that another repository uses. */
  function requireFree(root: string, id: string): void {
    const active = activeIn(root)?.state;
    if (active && active.contract.task_id.toLowerCase() !== id.toLowerCase())
      throw new HubError(
        'HUB_TASK_EXISTS',
        `${root}: task ${active.contract.task_id} is ${active.status}. Finish it, or run "agenthub task cancel ${active.contract.task_id}"`,
      );
    const other = find(id);
    if (other && (other.state.repository !== root || hasEnded(other)))
      throw new HubError(
        'HUB_TASK_EXISTS',
        `task_id: ${JSON.stringify(id)} is the id of a task in ${other.state.repository} that is ${other.state.status}. Choose another`,
      );
  }

  async function makeRoom(): Promise<void> {
    for (const [key, task] of tasks) {
      if (tasks.size < maxTasks) return;
      if (!hasEnded(task) || task.state.step.kind !== 'idle') continue;
      tasks.delete(key);
      await task.remove();
    }
    if (tasks.size >= maxTasks)
      throw new HubError(
        'HUB_TASKS_FULL',
        `there are ${tasks.size} tasks that have not ended. Finish or cancel some`,
      );
  }

  async function addTask(root: string, contract: TaskContract, principal: Principal) {
    requireFree(root, contract.task_id);
    const known = find(contract.task_id);
    if (known) return known;
    await makeRoom();
    const state = newTask({
      contract: { ...contract, status: 'proposal', attempt: 1 },
      repository: root,
      principal: policyNameOf(principal),
      at: clock.now(),
    });
    const stored = await store.create(state);
    if (!(await stored.save('created')))
      throw new HubError('HUB_TASK_STORE_FAILED', 'the task could not be stored: see the log');
    return add(createTaskRunner(stored, needsOfRunner));
  }

  const requireOwner = (principal: Principal, what: string) => {
    if (!principal.grants.administer)
      throw new HubError('HUB_OWNER_ONLY', `${what} needs the owner's key`);
  };

  return {
    service: {
      name: 'tasks',
      async start() {
        for (const stored of await store.load()) add(createTaskRunner(stored, needsOfRunner));
        for (const task of tasks.values()) {
          const { job } = task.state;
          task.recover(job === undefined ? undefined : resumed.get(job));
          if (job !== undefined) resumed.delete(job);
        }
        for (const open of resumed.values())
          open.failed(new HubError('HUB_TASK_UNKNOWN', 'the task of this job is not stored'));
        resumed.clear();
      },
      async stop() {
        await Promise.all([...tasks.values()].map(task => task.stop()));
      },
    },
    list: () => [...tasks.values()].map(view).reverse(),
    get: id => view(get(id)),
    async visibleTo(principal) {
      const visible: TaskView[] = [];
      for (const task of tasks.values()) {
        const isAllowed = await repositories.requireAllowed(task.state.repository, principal).then(
          () => true,
          () => principal.grants.administer,
        );
        if (isAllowed) visible.push(view(task));
      }
      return visible.reverse();
    },
    findByRepository(path) {
      const inside = (root: string) => path === root || path.startsWith(`${root}/`);
      const found = [...tasks.values()].filter(({ state }) => inside(state.repository));
      const task = found.findLast(one => !hasEnded(one)) ?? found.at(-1);
      return task && view(task);
    },
    async create(path, written, principal) {
      const contract = parseContract(written, 'the contract');
      return await withRepository(path, principal, async repository => {
        requireFree(repository.root, contract.task_id);
        const active = activeIn(repository.root);
        if (!active && (await hasContract(repository, never))) await refuseOther(repository);
        const task = await addTask(repository.root, contract, principal);
        await writeHandoff(task.state, repository, never);
        return view(task);
      });
    },
    async setup(path, principal) {
      return await withRepository(path, principal, async repository => {
        const active = activeIn(repository.root);
        // After a kill, its files may not be written yet.
        if (active?.state.step.kind === 'idle') await active.settled().catch(() => undefined); // It was logged.
        const contract = await readContract(repository, never);
        const known = find(contract.task_id);
        if (!known && !['proposal', 'pending_implementer'].includes(contract.status))
          throw new HubError(
            'HUB_TASK_STATE',
            `task ${contract.task_id} is ${contract.status} by its contract, and this hub does not know it. Set "status" to "proposal" to begin it here`,
          );
        const task = await addTask(repository.root, contract, principal);
        await task.dispatch({ type: 'setup', contract });
        await task.settled();
        return view(task);
      });
    },
    async begin(id, kind, principal) {
      const task = await requireTask(id, principal);
      requireFitting(task.state, { type: 'begin', kind, job: '' });
      slots.requireRoom();
      const open = jobs.begin({
        kind: jobKind,
        title: `Task ${task.state.contract.task_id}: ${kind.replace('_', ' ')}`,
        principal: policyNameOf(principal),
        cancel: reason => task.interrupt(reason),
      });
      try {
        await task.dispatch({ type: 'begin', kind, job: open.id }, open);
      } catch (error) {
        open.failed(error);
        throw error;
      }
      return { job: open.id };
    },
    settled: async id => await get(id).settled(),
    async reportJudge(id, given, principal) {
      const task = await requireTask(id, principal);
      const { verdict, notes } =
        given ??
        (await withRepository(task.state.repository, pipeline, repository =>
          readJudgement(repository, never),
        ));
      await task.dispatch({ type: 'judge', verdict, ...(notes !== undefined && { notes }) });
      await task.settled();
      return view(task);
    },
    async finalize(id, principal) {
      requireOwner(principal, 'finalize');
      const task = get(id);
      await task.dispatch({ type: 'finalize' });
      await task.settled();
      return view(task);
    },
    async cancel(id, principal) {
      const task = await requireTask(id, principal);
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
      const task = get(id);
      await task.dispatch({ type: 'rollback', commit: checkpointOf(task, checkpoint) });
      await task.settled();
      return view(task);
    },
    async diff(id, signal) {
      const { base, branch, repository: path } = get(id).state;
      if (base === undefined || branch === undefined) return { text: '', isTruncated: false };
      await using repository = await repositories.open(path, pipeline, signal);
      const to = await repository.resolve(branch, signal);
      const { text, isTruncated } = await repository.diff(
        { from: base, to, maxBytes: maxDiffBytes },
        signal,
      );
      return { text: redact(text), isTruncated };
    },
    async report(id, name, signal) {
      await using repository = await repositories.open(get(id).state.repository, pipeline, signal);
      return await readReport(repository, name, signal);
    },
    events,
  };

  /** A contract that the hub does not know may be somebody's work: it is not overwritten. */
  async function refuseOther(repository: Repository): Promise<void> {
    const found = await readContract(repository, never).catch(() => undefined); // An unreadable one is refused as well.
    const known = found && find(found.task_id);
    if (known && hasEnded(known)) return;
    throw new HubError(
      'HUB_TASK_EXISTS',
      `${repository.root} has a contract already (${found?.task_id ?? 'unreadable'}): set it up with "agenthub task setup", or remove _handoff/TASK_CONTRACT.json`,
    );
  }
}

/** The commit of a checkpoint, by a prefix of it. Default: the one before the last; "base" is the base. */
function checkpointOf({ state }: TaskRunner, wanted: string | undefined): string {
  const { base, checkpoints, contract } = state;
  const commits = [base, ...checkpoints.map(({ commit }) => commit)].filter(
    commit => commit !== undefined,
  );
  const found =
    wanted === undefined
      ? [commits.at(-2) ?? commits.at(-1)]
      : wanted === 'base'
        ? [base]
        : commits.filter(commit => commit.startsWith(wanted));
  const [commit] = found;
  if (found.length === 1 && commit !== undefined) return commit;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `checkpoint: ${JSON.stringify(wanted?.slice(0, 60) ?? '')} is no checkpoint of ${contract.task_id}: write "base" or one of ${commits.map(one => one.slice(0, 12)).join(', ') || 'none, as it was not set up'}`,
  );
}
