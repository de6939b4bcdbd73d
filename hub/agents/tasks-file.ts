import { type Log, messageOf } from '#core';
import type { AgentMemory, AgentTask } from './agent-memory.ts';

type Needs = {
  readonly memory: Pick<AgentMemory, 'writeTasks'>;
  readonly log: Log;
  /** Read when the write begins. */
  readonly tasks: () => readonly AgentTask[];
};

/** Writes `tasks.json`. All calls before a write begins share it. Never rejects. */
export function createTasksFile({ memory, log, tasks }: Needs): () => Promise<void> {
  /** The write that has not begun. */
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
