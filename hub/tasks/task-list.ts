import { type Clock, HubError } from '#core';
import { type Principal, policyNameOf } from '#policy';
import type { TaskContract } from './contract.ts';
import { newTask } from './new-task.ts';
import type { TaskRunner } from './task-runner.ts';
import type { StoredTask, createTaskStore } from './task-store.ts';

type Needs = {
  readonly clock: Pick<Clock, 'now'>;
  readonly store: ReturnType<typeof createTaskStore>;
  readonly runnerOf: (stored: StoredTask) => TaskRunner;
};

/** Maximum number of stored tasks. The oldest finished ones are removed first. */
const maxTasks = 200;

export const hasEnded = ({ state }: TaskRunner) =>
  state.status === 'done' || state.status === 'cancelled';

/** Creates the error for an unknown task id. `known`: ids of tasks that the caller may use, the oldest first. */
export function unknownTask(id: string, known: readonly string[]): HubError {
  const shown = JSON.stringify(id.slice(0, 70));
  const others = known.slice(-10).join(', ');
  return new HubError(
    'HUB_TASK_UNKNOWN',
    others === ''
      ? `there is no task ${shown}: make one with "agenthub task new"`
      : `there is no task ${shown}. There are ${others}`,
  );
}

/** Creates the list of tasks. A repository has at most one unfinished task. */
export function createTaskList({ clock, store, runnerOf }: Needs) {
  /** All tasks by id in lower case, the oldest first. */
  const tasks = new Map<string, TaskRunner>();
  let last: Promise<unknown> = Promise.resolve();

  function keep(runner: TaskRunner): TaskRunner {
    tasks.set(runner.state.contract.task_id.toLowerCase(), runner);
    return runner;
  }

  const find = (id: string) => tasks.get(id.toLowerCase());

  function get(id: string): TaskRunner {
    const task = find(id);
    if (task) return task;
    throw unknownTask(
      id,
      [...tasks.values()].map(({ state }) => state.contract.task_id),
    );
  }

  const activeIn = (root: string) =>
    [...tasks.values()].find(task => task.state.repository === root && !hasEnded(task));

  /** Throws HUB_TASK_EXISTS for a second unfinished task in a repository, and for an id that another task has. */
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
        // The message omits the path, as the caller may not be allowed to see the other repository.
        `task_id: ${JSON.stringify(id)} is the id of a task in ${other.state.repository === root ? root : 'another repository'} that is ${other.state.status}. Choose another id: run "agenthub task new ID", or write it into the contract`,
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

  async function addNow(root: string, contract: TaskContract, principal: Principal) {
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
    if (!(await stored.save('created'))) {
      await stored.remove().catch(() => undefined); // There is no journal that could be removed.
      throw new HubError('HUB_TASK_STORE_FAILED', 'the task could not be stored: see the log');
    }
    return keep(runnerOf(stored));
  }

  /**
   * Returns the unfinished task of a contract, or creates a task. Calls run one at a time, because concurrent calls
   * would not see each other's task.
   */
  function add(...of: Parameters<typeof addNow>): ReturnType<typeof addNow> {
    const added = last.then(() => addNow(...of));
    last = added.catch(() => undefined); // The caller of `add` gets the error.
    return added;
  }

  return {
    /** All tasks, the oldest first. */
    all: (): readonly TaskRunner[] => [...tasks.values()],
    find,
    /** Returns a task. Throws HUB_TASK_UNKNOWN. */
    get,
    activeIn,
    requireFree,
    add,
    /** Reads the stored tasks. */
    async load(): Promise<void> {
      const stored = await store.load();
      for (const one of stored.toSorted((a, b) => a.state.createdAt - b.state.createdAt))
        keep(runnerOf(one));
    },
  };
}
