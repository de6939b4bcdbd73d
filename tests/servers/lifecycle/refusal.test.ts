import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Code, ErrorData } from '#core';
import type { ServerStatus } from '#servers';
import { closedFor, refusalOf } from '../../../hub/servers/lifecycle/refusal.ts';

const files = { name: 'files', enabled: true } as const;
const stopped: ServerStatus = { state: 'stopped', byHand: false };
const away = {
  state: 'unreachable',
  since: 1,
  until: 9,
  due: 2_000,
  code: 'HUB_ENGINE_UNREACHABLE',
} as const;

describe('a call is refused by a server', () => {
  test.each<[string, ServerStatus, Code, string, ErrorData]>([
    [
      'that was stopped by hand',
      { state: 'stopped', byHand: true },
      'HUB_SERVER_STOPPED',
      'files was stopped by hand. Start it with "agenthub start files"',
      {},
    ],
    [
      'that is stopping, and may be repeated',
      { state: 'stopping', since: 1, hasEnded: false },
      'HUB_SERVER_STOPPED',
      'files is stopping',
      { retryable: true },
    ],
    [
      'that is being stopped by hand, for good',
      { state: 'stopping', since: 1, hasEnded: false, byHand: true },
      'HUB_SERVER_STOPPED',
      'files was stopped by hand. Start it with "agenthub start files"',
      {},
    ],
    [
      'that has failed, with its stderr and the remedy',
      { state: 'failed', since: 1, why: 'files: no such folder' },
      'HUB_SERVER_FAILED',
      'files has failed: no such folder. Start it again with "agenthub restart files"',
      { retryable: false, stderr: 'words' },
    ],
    [
      'that restarts, with its stderr and the time until then',
      { state: 'backing_off', until: 9, due: 1_500.2, why: 'files is gone: exited with code 1' },
      'HUB_SERVER_DOWN',
      'files is restarting: exited with code 1',
      { retryable: true, retryAfterMs: 501, stderr: 'words' },
    ],
    [
      'whose restart is overdue, with no time to wait',
      { state: 'backing_off', until: 9, due: 400, why: 'boom' },
      'HUB_SERVER_DOWN',
      'files is restarting: boom',
      { retryable: true, retryAfterMs: 0, stderr: 'words' },
    ],
    [
      'that is out of reach, with the code of the outage and without its stderr',
      { ...away, why: 'no engine answers' },
      'HUB_ENGINE_UNREACHABLE',
      'files is out of reach: no engine answers',
      { retryable: true, retryAfterMs: 1_000 },
    ],
    [
      'that is out of reach, which is named once',
      { ...away, why: 'files cannot be reached at http://a/' },
      'HUB_ENGINE_UNREACHABLE',
      'files cannot be reached at http://a/',
      { retryable: true, retryAfterMs: 1_000 },
    ],
  ])('%s', (_, status, code, message, data) => {
    const error = refusalOf(files, status, 'words', 1_000);
    assert.deepEqual(
      [error?.code, error?.message, error?.data],
      [code, message, { server: 'files', ...data }],
    );
  });

  test('that is disabled, in any state', () => {
    for (const status of [stopped, { state: 'running', since: 1 } as const]) {
      const error = refusalOf({ ...files, enabled: false }, status, 'words', 0);
      assert.equal(error?.code, 'HUB_SERVER_DISABLED');
      assert.equal(
        error?.message,
        'files is disabled in the config. Remove "disabled": true or "enabled": false from its entry to use it',
      );
      assert.deepEqual(error?.data, { server: 'files' });
    }
  });

  test('that waits for approval, with the reason', () => {
    const held = { ...files, enabled: false, heldBack: 'it asks for a mount' };
    assert.equal(
      refusalOf(held, stopped, '', 0)?.message,
      'files waits for a person: it asks for a mount',
    );
  });

  test('that has written nothing, without a stderr', () => {
    const error = refusalOf(files, { state: 'failed', since: 1, why: 'boom' }, '', 0);
    assert.deepEqual(error?.data, { server: 'files', retryable: false });
  });
});

test.each<[string, ServerStatus]>([
  ['stopped, and may be started', stopped],
  ['starting', { state: 'starting', since: 1, progress: 'launching' }],
  ['running', { state: 'running', since: 1 }],
])('a call is not refused by a server that is %s', (_, status) => {
  assert.equal(refusalOf(files, status, 'words', 0), undefined);
});

test('a closed server says whether it was removed or the hub stops', () => {
  const removed = closedFor('files', 'removed');
  assert.deepEqual(
    [removed.code, removed.message, removed.data],
    ['HUB_SERVER_UNKNOWN', 'files was removed from the config', { server: 'files' }],
  );
  const stopping = closedFor('files', 'stopping');
  assert.deepEqual(
    [stopping.code, stopping.message, stopping.data],
    [
      'HUB_SHUTTING_DOWN',
      'files is not started: the hub is stopping',
      { server: 'files', retryable: true },
    ],
  );
});
