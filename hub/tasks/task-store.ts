import { type Log, isObject } from '#core';
import { type TaskState, parseTaskState } from './task-state.ts';

/** An append-only file of records: see store/journal.ts. */
export interface TaskJournal {
  open(): Promise<readonly unknown[]>;
  append(record: object): Promise<boolean>;
  close(): Promise<void>;
}

export type TaskStoreNeeds = {
  readonly log: Log;
  /** Names of the journals in the folder of tasks. */
  readonly listJournals: () => Promise<readonly string[]>;
  /** `snapshot`: the records that a compaction keeps. */
  readonly openJournal: (name: string, snapshot: () => readonly object[]) => TaskJournal;
  /** Removes a journal that was closed. */
  readonly removeJournal: (name: string) => Promise<void>;
};

/** A task whose states are stored. The journal is the truth: what is in the repository is written from it. */
export interface StoredTask {
  state: TaskState;
  /** Whether the repository has the files of the state. */
  isWritten: boolean;
  /** `event`: what led to the state, or `writtenEvent`. Resolves with false if the state could not be stored. */
  save(event: string): Promise<boolean>;
  close(): Promise<void>;
  /** Removes the journal. */
  remove(): Promise<void>;
}

/** Names of journals have no case, because some file systems have none. */
const nameOf = (id: string) => `${id.toLowerCase()}.jsonl`;

/** Event of the record that the repository has the files of a state. */
export const writtenEvent = 'written';

export function createTaskStore(needs: TaskStoreNeeds) {
  const { log } = needs;

  function openStored(
    name: string,
    initial: TaskState,
    journal: TaskJournal,
    wasWritten: boolean,
  ): StoredTask {
    const task: StoredTask = {
      state: initial,
      isWritten: wasWritten,
      save: event => journal.append({ at: task.state.updatedAt, event, task: task.state }),
      close: () => journal.close(),
      async remove() {
        await journal.close();
        await needs.removeJournal(name);
      },
    };
    return task;
  }

  return {
    /** Creates the journal of a new task. Nothing is written before the first `save`. */
    async create(state: TaskState): Promise<StoredTask> {
      const name = nameOf(state.contract.task_id);
      const journal = needs.openJournal(name, () => [snapshotOf(task)]);
      const task = openStored(name, state, journal, false);
      await journal.open();
      return task;
    },
    /** The tasks of earlier runs. A journal without a readable state is kept, and logged. */
    async load(): Promise<readonly StoredTask[]> {
      const tasks: StoredTask[] = [];
      for (const name of await needs.listJournals()) {
        const loaded: StoredTask[] = [];
        const journal = needs.openJournal(name, () => loaded.map(snapshotOf));
        const records = await journal.open();
        const at = records.findLastIndex(record => stateIn(record) !== undefined);
        const state = stateIn(records[at]);
        if (!state) {
          log.warn(
            { journal: name },
            'the journal of a task has no readable state and is left alone',
          );
          await journal.close();
          continue;
        }
        const task = openStored(name, state, journal, isWritten(records[at]));
        loaded.push(task);
        tasks.push(task);
      }
      return tasks;
    },
  };
}

const snapshotOf = ({ state }: StoredTask) => ({
  at: state.updatedAt,
  event: 'snapshot',
  task: state,
});

const isWritten = (record: unknown) => isObject(record) && record['event'] === writtenEvent;

const stateIn = (record: unknown) =>
  isObject(record) ? parseTaskState(record['task']) : undefined;
