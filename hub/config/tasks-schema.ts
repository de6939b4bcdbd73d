import { z } from 'zod';
import { describeKeys, interpreted, text } from './schema-parts.ts';
import { serverName } from './server-schema.ts';

export const tasksSchema = describeKeys(
  z.strictObject({
    server: serverName.default('ollama'),
    run_tool: text.min(1).default('ollama_run'),
    list_tool: text.min(1).default('ollama_list_models'),
    timeout_seconds: z.int().min(10).max(86_400).default(600),
    models: z.array(text.min(1)).min(1).max(200).exactOptional(),
    max_running: z.int().min(1).max(32).default(2),
    queue: z.int().min(0).max(1_000).default(20),
    merge: z.enum(['fast_forward', 'merge_commit']).default('fast_forward'),
  }),
  {
    server:
      'Name of the server that runs models. Default: "ollama", which the shipped config has as "agenthub:ollama-mcp".',
    run_tool: 'Its tool that runs a prompt. Default: "ollama_run".',
    list_tool: 'Its tool that lists models. Default: "ollama_list_models".',
    timeout_seconds:
      'Maximum duration of one call of a model in seconds, including its wait for other calls. "timeout" of the entry of the server and "models.timeout_seconds" may end it earlier. Default: 600.',
    models: 'Models that tasks may use. Default: all.',
    max_running: 'Maximum number of tasks that are worked on at the same time. Default: 2.',
    queue: 'Maximum number of tasks that wait to be worked on. Default: 20.',
    merge:
      'How "finalize" merges: "fast_forward" makes a merge commit only if the base branch has moved on, "merge_commit" always. Default: "fast_forward".',
  },
);

/** Options of `tasks` in the config. */
export type TasksConfig = Readonly<ReturnType<typeof readTasks>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readTasks = (written = tasksSchema.parse({}, interpreted)) => ({
  server: written.server,
  runTool: written.run_tool,
  listTool: written.list_tool,
  timeoutMs: written.timeout_seconds * 1_000,
  /** Models that tasks may use; undefined for all models. */
  models: written.models,
  maxRunning: written.max_running,
  queue: written.queue,
  merge: written.merge,
});
