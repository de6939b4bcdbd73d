import { type Log, messageOf } from '#core';
import type { AgentMemory, AgentTask } from './agent-memory.ts';

type Needs = {
  readonly memory: Pick<AgentMemory, 'writeTasks'>;
  readonly log: Log;
  /** Called when the write begins. */
  readonly tasks: () => readonly AgentTask[];
};

/** Creates a function that writes `tasks.json`. Calls before a write begins share that write. Never rejects. */
export function createTasksFile({ memory, log, tasks }: Needs): () => Promise<void> {
  /** A write that has not begun yet. */
  let planned: Promise<void> | undefined;

  async function write(): Promise<void> {
    try {
      await memory.writeTasks(() => {
        planned = undefined;
        return tasks();
      });
    } catch (error) {
      log.error({ error: messageOf(error) }, 'tasks.json could not be written');
    }
  }

  return () => (planned ??= write());
}
