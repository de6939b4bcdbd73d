import { type Log, isObject } from '#core';
import { type TaskState, parseTaskState } from './task-state.ts';

/** An append-only file of records. See store/journal.ts. */
export interface TaskJournal {
  open(): Promise<readonly unknown[]>;
  append(record: object): Promise<boolean>;
  close(): Promise<void>;
}

export type TaskStoreNeeds = {
  readonly log: Log;
  /** Returns the names of the journals in the folder of tasks. */
  readonly listJournals: () => Promise<readonly string[]>;
  /** Opens a journal. `snapshot` returns the records that a compaction keeps. */
  readonly openJournal: (name: string, snapshot: () => readonly object[]) => TaskJournal;
  /** Removes a closed journal. */
  readonly removeJournal: (name: string) => Promise<void>;
};

/** A task with its journal. The journal is authoritative: the files in the repository are written from it. */
export interface StoredTask {
  state: TaskState;
  /** True if the files in the repository are those of the current state. */
  isWritten: boolean;
  /** Stores the state. `event`: its cause, or `writtenEvent`. Resolves with false if it could not be stored. */
  save(event: string): Promise<boolean>;
  close(): Promise<void>;
  /** Closes and removes the journal. */
  remove(): Promise<void>;
}

/** Returns the journal name of a task in lower case, as some file systems ignore case. */
const nameOf = (id: string) => `${id.toLowerCase()}.jsonl`;

/** Event of a record which says that the files in the repository are those of the state. */
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
    /** Creates the journal of a new task. Its file is written by the first `save`. */
    async create(state: TaskState): Promise<StoredTask> {
      const name = nameOf(state.contract.task_id);
      const journal = needs.openJournal(name, () => [snapshotOf(task)]);
      const task = openStored(name, state, journal, false);
      await journal.open();
      return task;
    },
    /** Reads the tasks of earlier runs. A journal without a readable state is kept and logged. */
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
