import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createEmitter, silent, systemClock } from '#core';
import { redactText } from '#telemetry';
import { readHubLine, wireLogs } from '../../hub/app/wire-logs.ts';

test.for([
  [
    { level: 'info', msg: 'AgentHub listens' },
    { level: 'info', text: 'AgentHub listens' },
  ],
  [
    { level: 'warn', time: 'now', server: 'memory', msg: 'stopped', by_hand: true },
    { level: 'warn', text: 'memory: stopped {"by_hand":true}' },
  ],
  [
    { level: 'info', part: 'redis', msg: 'connected' },
    { level: 'info', text: 'redis: connected' },
  ],
  [{ level: 'info', server: 'memory', stderr: 'a line', msg: 'stderr' }, undefined],
  ['no object', undefined],
] as const)(
  'the record %j is parsed as a line of the hub, or ignored if it is not one',
  ([record, expected]) => {
    assert.deepEqual(readHubLine(JSON.stringify(record)), expected);
  },
);

test('lines of the hub are kept as a run of its own, which ends with the hub', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-logs-'));
  const { event: logged, fire } = createEmitter<string>();
  const needs = { clock: systemClock, log: silent, redact: redactText, logged };
  const logs = await wireLogs(folder, { ...needs, config: { servers: [] } });
  fire(JSON.stringify({ level: 'info', msg: 'AgentHub listens' }));
  fire('torn');
  await logs.stop();
  fire(JSON.stringify({ level: 'info', msg: 'after the end' }));
  const lines = await logs.read({ servers: [], isHubWanted: true, back: 0, lines: 10 });
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['', 'AgentHub listens', 'the hub was stopped'],
  );
  await rm(folder, { recursive: true });
});
