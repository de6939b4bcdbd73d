import { z } from 'zod';
import { describeKeys, interpreted, size } from './schema-parts.ts';
import { bytesOf } from './size.ts';

const minute = 60_000;
const whole = (least: number, most: number) => z.int().min(least).max(most);

export const agentsSchema = describeKeys(
  z.strictObject({
    max: whole(1, 1_000).default(100),
    max_running: whole(1, 100).default(10),
    queue: whole(1, 1_000).default(100),
    turn_minutes: whole(1, 1_440).default(30),
    memory: size.default('1g'),
    cpus: z.number().min(0.01).max(1_024).default(1),
    pids: whole(16, 32_768).default(256),
    workspace: size.default('1g'),
  }),
  {
    max: 'Maximum number of agents. Default: 100.',
    max_running: 'Maximum number of agents that have a container at the same time. Default: 10.',
    queue: 'Maximum number of messages that wait for one agent. Default: 100.',
    turn_minutes:
      'Maximum duration of the work on one message in minutes. The agent is stopped then. Default: 30.',
    memory: 'Maximum memory of an agent, with its /tmp. Default: 1g.',
    cpus: 'Maximum number of CPU cores of an agent. Default: 1.',
    pids: 'Maximum number of processes and threads of an agent. Default: 256.',
    workspace:
      'Maximum size of the workspace of an agent, and of each file in it. The agent is stopped when it writes more. Default: 1g.',
  },
);

/** Options of `agents` in the config. A change applies to containers that are started afterwards. */
export type AgentsConfig = Readonly<ReturnType<typeof readAgents>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readAgents = (written = agentsSchema.parse({}, interpreted)) => ({
  max: written.max,
  maxRunning: written.max_running,
  queue: written.queue,
  turnMs: written.turn_minutes * minute,
  memoryBytes: bytesOf(written.memory),
  cpus: written.cpus,
  pids: written.pids,
  workspaceBytes: bytesOf(written.workspace),
});
