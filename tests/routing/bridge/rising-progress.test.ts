import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isObject } from '#core';
import { encodeCall } from '#jsonrpc';
import { createRisingProgress } from '../../../hub/routing/bridge/rising-progress.ts';

/** Reports the progress of a call that is executed once for each list. Returns the params that the client receives. */
function report(...times: readonly (readonly object[])[]): readonly unknown[] {
  const told: unknown[] = [];
  const progress = createRisingProgress({
    send(bytes) {
      const message: unknown = JSON.parse(bytes.toString());
      told.push(isObject(message) && message['params']);
    },
  });
  for (const [index, reports] of times.entries()) {
    if (index > 0) progress.again();
    for (const params of reports)
      progress.stream.send(encodeCall(undefined, 'notifications/progress', params));
  }
  return told;
}

test("the first round is unchanged, even if the server's own progress does not increase", () => {
  const reports = [{ progress: 2, total: 3 }, { progress: 1 }, { progress: 'half' }, {}];
  assert.deepEqual(report(reports), reports);
});

test.for([
  [
    [[{ progress: 0.5, total: 1 }], [{ progress: 0.25, total: 1 }]],
    [0.5, 0.75],
  ],
  [
    [[{ progress: 2 }], [], [{ progress: 1 }]],
    [2, 3],
  ],
  [
    [[{ progress: 2 }], [{ progress: 0 }, { progress: 1 }], [{ progress: 0.5 }]],
    [2, 3, 3.5],
  ],
  [
    [[], [{ progress: 0 }, { progress: 1 }]],
    [0, 1],
  ],
] as const)('the progress %j is sent as %j', ([times, told]) => {
  assert.deepEqual(
    report(...times).map(params => isObject(params) && params['progress']),
    told,
  );
});

test('other messages are unchanged', () => {
  const sent: string[] = [];
  const progress = createRisingProgress({ send: bytes => void sent.push(bytes.toString()) });
  const log = encodeCall(undefined, 'notifications/message', { progress: 1, level: 'info' });
  progress.stream.send(encodeCall(undefined, 'notifications/progress', { progress: 4 }));
  progress.again();
  progress.stream.send(log);
  assert.equal(sent[1], log.toString());
  const endless = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1e999}}';
  progress.stream.send(Buffer.from(endless));
  assert.equal(sent[2], endless);
});
