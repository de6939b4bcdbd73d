import { expect, test } from 'vitest';
import { readAgents } from '#config';
import { agentsSchema } from '../../hub/config/agents-schema.ts';

test('without "agents" the defaults apply', () => {
  expect(readAgents(undefined)).toEqual({
    max: 100,
    maxRunning: 10,
    queue: 100,
    turnMs: 1_800_000,
    memoryBytes: 2 ** 30,
    cpus: 1,
    pids: 256,
    workspaceBytes: 2 ** 30,
  });
});

test('values of the file override defaults', () => {
  const written = agentsSchema.parse({ max_running: 2, turn_minutes: 5, workspace: '10m' });
  expect(readAgents(written)).toMatchObject({
    maxRunning: 2,
    turnMs: 300_000,
    workspaceBytes: 10 * 2 ** 20,
  });
});

test.each([{ max: 0 }, { memory: 'much' }, { turns: 1 }])('%j is refused', written => {
  expect(agentsSchema.safeParse(written).success).toBe(false);
});
