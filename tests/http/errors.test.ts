import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Code, HubError, codes } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import { headOfAnswer, problemOf, reportOf, retryAfter, statusOf } from '../../hub/http/errors.ts';

describe('the status of an error', () => {
  test.each<readonly [code: Code, status: number]>([
    ['HUB_REQUEST_INVALID', 400],
    ['HUB_OWNER_ONLY', 403],
    ['HUB_POLICY_DENIED', 403],
    ['HUB_AUDIT_UNAVAILABLE', 503],
    ['HUB_SERVER_UNKNOWN', 404],
    ['HUB_SERVER_STOPPED', 409],
    ['HUB_BODY_TOO_LARGE', 413],
    ['HUB_CALL_CANCELLED', 499],
    ['HUB_SESSIONS_FULL', 503],
    ['HUB_SERVER_FAILED', 503],
    ['HUB_CALL_TIMEOUT', 504],
  ])('of %s is %d', (code, status) => {
    assert.equal(statusOf(new HubError(code, 'no')), status);
  });

  test.each([[new Error('no')], ['no'], [undefined], [{ code: 'HUB_OWNER_ONLY' }]])(
    'of %s, which is not a HubError, is 500',
    error => assert.equal(statusOf(error), 500),
  );

  test('is one of 4xx or 5xx for every code', () => {
    for (const code of Object.keys(codes)) {
      const status = headOfAnswer(failure({ code })).status;
      assert.ok(status >= 400 && status < 600, code);
    }
  });
});

const failure = (data?: unknown) =>
  Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no', data } }),
  );

describe('the head of a JSON-RPC response', () => {
  test.each([
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    [
      'a result with the data of an error',
      '{"jsonrpc":"2.0","id":1,"result":{"data":{"code":"HUB_OWNER_ONLY"}}}',
    ],
    ['no JSON', 'no'],
    ['a request', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['an error that is a text', '{"jsonrpc":"2.0","id":1,"error":"HUB_OWNER_ONLY"}'],
  ])('is 200 for %s', (_what, text) => {
    assert.deepEqual(headOfAnswer(Buffer.from(text)), { status: 200 });
  });

  test.each([
    [undefined],
    [null],
    ['HUB_OWNER_ONLY'],
    [{}],
    [{ code: 5 }],
    [{ code: 'SERVER_OWN_CODE' }],
    [{ code: 'toString' }],
    [{ code: '__proto__', retryAfterMs: 1000 }],
  ])('is 200 for an error of a server with the data %j', data => {
    assert.deepEqual(headOfAnswer(failure(data)), { status: 200 });
  });

  test("has the status of the hub's error, and Retry-After", () => {
    assert.deepEqual(headOfAnswer(failure({ code: 'HUB_SERVER_BUSY', retryAfterMs: 1_001 })), {
      status: 503,
      headers: { 'retry-after': '2' },
    });
    assert.deepEqual(headOfAnswer(failure({ code: 'HUB_CALL_TIMEOUT' })), {
      status: 504,
      headers: {},
    });
  });
});

test.each([
  [0, { 'retry-after': '0' }],
  [1, { 'retry-after': '1' }],
  [60_000, { 'retry-after': '60' }],
  ['1000', {}],
  [undefined, {}],
])('Retry-After of %j ms is %j', (retryAfterMs, expected) => {
  assert.deepEqual(retryAfter({ retryAfterMs }), expected);
});

describe('the body of an error', () => {
  const system = () => {
    const { log, logged } = createRecordingLog();
    return { logged, system: { clock: createManualClock(), log, newId: () => 'id-1' } };
  };

  test("has the code, the message and the data of the hub's error, and is not logged", () => {
    const { logged, system: given } = system();
    const error = new HubError('HUB_SERVER_BUSY', 'busy', {
      data: { server: 'echo', retryAfterMs: 5, missing: undefined },
    });
    const expected = {
      error: { code: 'HUB_SERVER_BUSY', message: 'busy', server: 'echo', retryAfterMs: 5 },
    };
    assert.deepEqual(problemOf(error), expected);
    assert.deepEqual(reportOf(error, '/mcp', given), expected);
    assert.deepEqual(logged, []);
  });

  test('names the id of an unexpected error, whose text only the log has', () => {
    for (const error of [new Error('secret detail'), 'secret detail']) {
      const { logged, system: given } = system();
      assert.deepEqual(reportOf(error, '/health', given), {
        error: {
          code: 'HUB_INTERNAL',
          message: 'the hub failed; its log says why under id-1',
          id: 'id-1',
        },
      });
      const [line] = logged;
      assert.deepEqual([line?.level, logged.length], ['error', 1]);
      assert.match(
        JSON.stringify(line?.fields),
        /"request":"id-1","url":"\/health".*secret detail/,
      );
    }
  });
});
