import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecordingLog } from '#helpers/recording-log';
import { createRefusalLog } from '../../hub/http/refusal-log.ts';

test('refused callers of many addresses have at most 600 lines an hour, and the next counts the others', () => {
  let now = 1_000;
  const { log } = createRecordingLog();
  const recorded: number[] = [];
  const note = createRefusalLog({
    log,
    clock: { monotonic: () => now },
    recordRefusal: ({ unlogged }) => void recorded.push(unlogged),
  });
  const refuse = (address: number) =>
    note({
      address: `127.0.1.${address}`,
      method: 'GET',
      url: '/mcp',
      refusal: { status: 403, message: 'another user' },
    });
  for (let second = 0; second < 60; second++) {
    for (let address = 0; address < 100; address++) refuse(address);
    now += 1_000;
  }
  assert.deepEqual(recorded, Array(600).fill(0));
  now += 60 * 60_000;
  refuse(0);
  assert.deepEqual(recorded.slice(600), [5_400]);
});
