import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Code, type ErrorData, HubError } from '#core';
import {
  awayCodeOf,
  goneError,
  haltedError,
  isHalted,
  isLasting,
  startFailure,
  withoutName,
} from '../../hub/servers/failures.ts';

const failed = (code: Code, data: ErrorData = {}, cause?: unknown) =>
  new HubError(code, 'files: no answer', { data, cause });

const outage = failed('HUB_ENGINE_UNREACHABLE');

describe('the outage that an error is due to', () => {
  test.each<[string, unknown, Code | undefined]>([
    ['an engine that is away', outage, 'HUB_ENGINE_UNREACHABLE'],
    ['a registry that is away', failed('HUB_REGISTRY_UNREACHABLE'), 'HUB_REGISTRY_UNREACHABLE'],
    ['a host that does not answer', failed('HUB_REMOTE_UNREACHABLE'), 'HUB_REMOTE_UNREACHABLE'],
    [
      'a host that answers with a status',
      failed('HUB_REMOTE_UNREACHABLE', { status: 502 }),
      undefined,
    ],
    [
      'a channel that an outage closed',
      failed('HUB_SERVER_DOWN', {}, outage),
      'HUB_ENGINE_UNREACHABLE',
    ],
    [
      'a channel that another such channel closed',
      failed('HUB_SERVER_DOWN', {}, failed('HUB_SERVER_DOWN', {}, outage)),
      'HUB_ENGINE_UNREACHABLE',
    ],
    ['a channel that closed by itself', failed('HUB_SERVER_DOWN'), undefined],
    [
      'a start that failed during an outage',
      failed('HUB_SERVER_START_FAILED', {}, outage),
      undefined,
    ],
    ['a bug', new TypeError('no'), undefined],
    ['nothing', undefined, undefined],
  ])('of %s', (_, error, code) => {
    assert.equal(awayCodeOf(error), code);
  });
});

test.each([
  ['files: the folder is missing', 'the folder is missing'],
  ['files at http://a/ cannot be reached', 'the server at http://a/ cannot be reached'],
  ['files exited with code 1', 'it exited with code 1'],
  ['files is gone: exited with code 1', 'exited with code 1'],
  ['files is gone: files at http://a/ refused the hub', 'the server at http://a/ refused the hub'],
  ['filesystem exited', 'filesystem exited'],
  ['the engine is away', 'the engine is away'],
])('the text "%s" without the name of the server is "%s"', (message, shown) => {
  assert.equal(withoutName('files', message), shown);
});

describe('a start is not retried', () => {
  test.each<[string, unknown, boolean]>([
    ['after an invalid launch', failed('HUB_LAUNCH_INVALID'), true],
    ['after a conflict', failed('HUB_CONTAINER_NAME_TAKEN'), true],
    ['after an error that says so', failed('HUB_SERVER_PROTOCOL', { retryable: false }), true],
    [
      'after a refusal with 401',
      failed('HUB_REMOTE_UNREACHABLE', { retryable: false, status: 401 }),
      true,
    ],
  ])('%s', (_, error, expected) => {
    assert.equal(isLasting(error), expected);
  });

  test.each<[string, unknown]>([
    ['a 404', failed('HUB_REMOTE_UNREACHABLE', { retryable: false, status: 404 })],
    ['an error that does not say whether to retry', failed('HUB_SERVER_DOWN')],
    ['an error that may be retried', failed('HUB_SERVER_DOWN', { retryable: true })],
    ['a bug', new TypeError('no')],
  ])('but is after %s', (_, error) => {
    assert.equal(isLasting(error), false);
  });
});

describe('the error of a server that ended', () => {
  test('names the server once, and quotes its last output', () => {
    const cause = new Error('EPIPE');
    const words = { quoted: 'The last it wrote since its launch: boom', stderr: 'one\nboom' };
    const error = goneError('files', 'files exited with code 1', words, cause);
    assert.equal(error.code, 'HUB_SERVER_DOWN');
    assert.equal(
      error.message,
      'files is gone: it exited with code 1. The last it wrote since its launch: boom',
    );
    assert.deepEqual(error.data, { server: 'files', retryable: true, stderr: 'one\nboom' });
    assert.equal(error.cause, cause);
    assert.equal(isHalted(error), false);
  });

  test('says what to do if the server ran out of memory, once', () => {
    const advice =
      '. It needs more memory: add "resources": {"memory": "1g"} to its entry, or raise that';
    const how = 'killed: out of memory (limit 512 MiB)';
    const gone = goneError('files', how, { quoted: '', stderr: '' }, undefined);
    assert.equal(gone.message, `files is gone: ${how}${advice}`);
    const words =
      'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
    for (const [error, why] of [
      [gone, how],
      [new HubError('HUB_SERVER_START_FAILED', 'ended by SIGABRT'), 'ended by SIGABRT'],
    ] as const) {
      const failure = startFailure('files', error, words);
      assert.ok(failure instanceof HubError);
      assert.equal(failure.message, `files did not start: ${why}${advice}`);
    }
  });

  test('has no stderr if the hub stopped the server', () => {
    const error = haltedError('files', 'it was stopped');
    assert.equal(error.message, 'files is gone: it was stopped');
    assert.deepEqual(error.data, { server: 'files', retryable: true });
    assert.equal(isHalted(error), true);
  });
});

describe('the error of a server that the hub stopped', () => {
  const refused = (data: ErrorData) =>
    new HubError('HUB_SERVER_STOPPED', 'files was stopped by hand. Start it', { data });

  test('allows no retry and names the remedy while calls are refused for good', () => {
    for (const data of [{}, { retryable: false }]) {
      const error = haltedError('files', 'it was stopped', refused(data));
      assert.equal(error.message, 'files is gone: it was stopped by hand. Start it');
      assert.deepEqual(error.data, { server: 'files', retryable: false });
      assert.equal(isHalted(error), true);
    }
  });

  test('allows a retry if calls are refused for now, or start an instance of a session again', () => {
    for (const refusal of [refused({ retryable: true }), failed('HUB_SERVER_START_FAILED')]) {
      const error = haltedError('files', 'it was stopped', refusal);
      assert.equal(error.message, 'files is gone: it was stopped');
      assert.deepEqual(error.data, { server: 'files', retryable: true });
    }
  });
});

describe('the error of a failed start', () => {
  test('is the outage, if one closed the channel', () => {
    assert.equal(startFailure('files', failed('HUB_SERVER_DOWN', {}, outage), 'words'), outage);
  });

  test.each<[Code]>([['HUB_LAUNCH_INVALID'], ['HUB_REMOTE_UNREACHABLE'], ['HUB_SERVER_PROTOCOL']])(
    'is the one of the launch if that is %s',
    code => {
      const error = failed(code);
      assert.equal(startFailure('files', error, 'words'), error);
    },
  );

  test.each<[string, unknown, string]>([
    ['a server that ended', failed('HUB_SERVER_DOWN'), 'no answer'],
    ['a start that failed', failed('HUB_SERVER_START_FAILED'), 'no answer'],
    ['a timeout', failed('HUB_CALL_TIMEOUT'), 'no answer'],
    ['a bug', new TypeError('no such thing'), 'no such thing'],
  ])('of %s says that it did not start, and has its stderr', (_, cause, why) => {
    const error = startFailure('files', cause, 'words');
    assert.ok(error instanceof HubError);
    assert.equal(error.code, 'HUB_SERVER_START_FAILED');
    assert.equal(error.message, `files did not start: ${why}`);
    assert.equal(error.cause, cause);
    assert.deepEqual(error.data, { server: 'files', stderr: 'words' });
  });

  test('quotes other output of the server on stdout, once', () => {
    const messageFor = (why: string, output: string) => {
      const cause = new HubError('HUB_SERVER_START_FAILED', why);
      const error = startFailure('files', cause, output);
      return error instanceof HubError ? error.message : assert.fail();
    };
    const rule = 'Its stdout must contain only MCP messages, but it wrote:';
    assert.equal(
      messageFor('it is late', 'words\nstdout: listening \nstdout: ready'),
      `files did not start: it is late. ${rule} listening`,
    );
    assert.equal(
      messageFor('exited. It wrote: stdout: no KEY', 'stdout: no KEY'),
      'files did not start: exited. It wrote: stdout: no KEY',
    );
    assert.equal(messageFor('late', `stdout: ${'x'.repeat(2_000)}`).length < 400, true);
  });

  test('has no stderr if the server wrote none', () => {
    const error = startFailure('files', failed('HUB_SERVER_DOWN'), '');
    assert.deepEqual(error instanceof HubError && error.data, { server: 'files' });
  });
});
