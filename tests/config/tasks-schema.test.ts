import { expect, test } from 'vitest';
import { readTasks } from '#config';
import { tasksSchema } from '../../hub/config/tasks-schema.ts';

test('without options tasks use the shipped server', () => {
  expect(readTasks(undefined)).toEqual({
    server: 'ollama',
    runTool: 'ollama_run',
    listTool: 'ollama_list_models',
    timeoutMs: 600_000,
    models: undefined,
    maxRunning: 2,
    queue: 20,
    merge: 'fast_forward',
  });
});

test('options are converted', () => {
  const written = tasksSchema.parse({
    server: 'models',
    run_tool: 'generate',
    timeout_seconds: 30,
    models: ['qwen3:8b'],
  });
  expect(readTasks(written)).toMatchObject({
    server: 'models',
    runTool: 'generate',
    timeoutMs: 30_000,
    models: ['qwen3:8b'],
  });
});

test.each([{ server: 'no name' }, { timeout_seconds: 5 }, { models: [] }, { tool: 'x' }])(
  '%j is refused',
  written => {
    expect(tasksSchema.safeParse(written).success).toBe(false);
  },
);
