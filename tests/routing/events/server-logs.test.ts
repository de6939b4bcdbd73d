import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createServerLogs } from '../../../hub/routing/events/server-logs.ts';
import { createScriptedServer } from '../scripted-server.ts';

test('each server has a limit of its own, and further lines are counted', () => {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const { logOf } = createServerLogs({ log, clock });
  const [one, other] = ['one', 'other'].map(name => createScriptedServer({ name }).server);
  assert.ok(one && other);
  for (let lines = 0; lines < 60; lines++) logOf(one).warn({}, 'one');
  logOf(other).warn({}, 'other');
  clock.advance(1_000);
  const counts = Object.groupBy(logged, ({ message }) => message);
  assert.deepEqual(
    Object.entries(counts).map(([message, lines]) => [message.slice(0, 8), lines?.length]),
    [
      ['one', 50],
      ['other', 1],
      ['10 lines', 1],
    ],
  );
});
