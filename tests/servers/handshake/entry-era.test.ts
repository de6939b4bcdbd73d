import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Code, type ErrorData, HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import type { Era } from '#mcp';
import {
  handshakeAs,
  isOfOtherEra,
  misconfigured,
  unheard,
} from '../../../hub/servers/handshake/entry-era.ts';
import {
  type Replies,
  createAnswering,
  legacyReplies,
  modernReplies,
  openUpstream,
  settle,
} from '../answering.ts';
import { configFor } from '../scripted.ts';

/** Begins a handshake in the era (legacy or modern) of the entry, with a server that has these answers. */
function begin(era: Era, replies: Replies, timeoutMs: number) {
  const clock = createManualClock();
  const server = createAnswering(replies);
  const options = { server: 'scripted', hubVersion: '0', timeoutMs } as const;
  const greeted = handshakeAs(era, options, openUpstream(server, clock), { clock });
  greeted.catch(() => undefined); // Each test awaits the handshake after moving the clock.
  return { clock, server, greeted };
}

const silence = 'silence';

describe('a server that does not answer in the era of its entry', () => {
  test.each([
    ['legacy', { initialize: silence, ...modernReplies }, 'server/discover', 10_000, 2_000],
    ['modern', { 'server/discover': silence, ...legacyReplies }, 'initialize', 10_000, 2_000],
    ['modern', { 'server/discover': silence, ...legacyReplies }, 'initialize', 1_000, 500],
  ] as const)(
    '%s is tried in the other era, shortly before the timeout',
    async (era, replies, other, timeoutMs, beforeMs) => {
      const { clock, server, greeted } = begin(era, replies, timeoutMs);
      clock.advance(timeoutMs - beforeMs - 1);
      await settle();
      assert.ok(!server.methods.includes(other));
      clock.advance(1);
      const error: unknown = await greeted.catch((reason: unknown) => reason);
      assert.ok(server.methods.includes(other));
      assert.ok(isOfOtherEra(error), String(error));
      const own = era === 'modern' ? 'server/discover' : 'initialize';
      assert.equal(error.message, `scripted answered nothing to ${own}`);
    },
  );

  test('and not in the other era either has timed out in the era of its entry', async () => {
    const { clock, greeted } = begin(
      'modern',
      { 'server/discover': silence, initialize: silence },
      10_000,
    );
    clock.advance(8_000);
    await settle();
    clock.advance(2_000);
    await assert.rejects(greeted, {
      code: 'HUB_CALL_TIMEOUT',
      data: { server: 'scripted', method: 'server/discover', timeoutMs: 10_000 },
    });
  });

  test('and refuses the other era has timed out in the era of its entry', async () => {
    const { clock, server, greeted } = begin('modern', { 'server/discover': silence }, 10_000);
    clock.advance(8_000);
    await settle();
    assert.ok(server.methods.includes('initialize'));
    clock.advance(2_000);
    await assert.rejects(greeted, { code: 'HUB_CALL_TIMEOUT' });
  });
});

test('a server that answers in the era of its entry is not tried in the other', async () => {
  const { clock, server, greeted } = begin(
    'legacy',
    { ...legacyReplies, ...modernReplies },
    10_000,
  );
  assert.equal((await greeted).era, 'legacy');
  assert.equal(clock.waiting, 0);
  assert.ok(!server.methods.includes('server/discover'));
});

describe('a refusal', () => {
  const refusal = (code: Code, data: ErrorData) => new HubError(code, 'no', { data });
  const discover = { method: 'server/discover' };
  const initialize = { method: 'initialize' };
  const rpc = (code: number, data?: object) => ({ error: { code, message: 'no', data } });

  test.each<[string, unknown]>([
    ['404 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 404 })],
    ['400 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 400 })],
    ['any error to discover', refusal('HUB_SERVER_PROTOCOL', { ...discover, ...rpc(-1) })],
    ['an unknown method', refusal('HUB_SERVER_PROTOCOL', { ...initialize, ...rpc(-32601) })],
    ['an invalid request', refusal('HUB_SERVER_PROTOCOL', { ...initialize, ...rpc(-32600) })],
    ['invalid params', refusal('HUB_SERVER_PROTOCOL', { ...initialize, ...rpc(-32602) })],
    ['a missing header', refusal('HUB_SERVER_PROTOCOL', { ...initialize, ...rpc(-32020) })],
    [
      'a list of newer revisions',
      refusal('HUB_SERVER_PROTOCOL', {
        ...initialize,
        ...rpc(-32022, { supported: ['2026-07-28'] }),
      }),
    ],
  ])('comes from a server of the other era if it is %s', (_, error) => {
    assert.equal(isOfOtherEra(error), true);
  });

  test.each<[string, unknown]>([
    ['401 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 401 })],
    ['403 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 403 })],
    ['408 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 408 })],
    ['429 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 429 })],
    ['500 to discover', refusal('HUB_REMOTE_UNREACHABLE', { ...discover, status: 500 })],
    ['no status to discover', refusal('HUB_REMOTE_UNREACHABLE', discover)],
    ['404 to initialize', refusal('HUB_REMOTE_UNREACHABLE', { ...initialize, status: 404 })],
    ['an internal error', refusal('HUB_SERVER_PROTOCOL', { ...initialize, ...rpc(-32603) })],
    [
      'an unknown method of a list',
      refusal('HUB_SERVER_PROTOCOL', { method: 'tools/list', ...rpc(-32601) }),
    ],
    ['an end', refusal('HUB_SERVER_DOWN', discover)],
    ['a bug', new TypeError('no')],
  ])('does not determine the era if it is %s', (_, error) => {
    assert.equal(isOfOtherEra(error), false);
  });
});

test.each([
  ['modern', 'MCP 2026-07-28'],
  ['legacy', 'MCP up to 2025-11-25'],
] as const)(
  'an entry with the wrong era %s is not retried, and the error has the remedy',
  (era, spoken) => {
    const cause = new HubError('HUB_SERVER_PROTOCOL', 'scripted refused it: no', {
      data: { server: 'scripted', method: 'initialize', retryable: true },
    });
    const error = misconfigured(configFor({ era }), cause);
    assert.equal(
      error.message,
      `scripted does not speak ${spoken}, which "era": "${era}" in its entry asks for: it refused it: no. Set "era" to "auto"`,
    );
    assert.deepEqual(error.data, { server: 'scripted', method: 'initialize', retryable: false });
    assert.equal(error.cause, cause);
  },
);

describe('the error of a server that never answered', () => {
  const config = configFor({ era: 'modern', startTimeoutMs: 2_500 });
  const hint =
    'set "era" to "auto" if it does not speak MCP 2026-07-28, which "era": "modern" in its entry asks for';

  test('that exited is unchanged, with a hint about the era', () => {
    const cause = new Error('EPIPE');
    const data = { server: 'scripted', retryable: true };
    const error = unheard(config, new HubError('HUB_SERVER_DOWN', 'it exited', { cause, data }));
    assert.ok(error instanceof HubError);
    assert.deepEqual(
      [error.code, error.message, error.cause, error.data],
      ['HUB_SERVER_DOWN', `it exited; ${hint}`, cause, data],
    );
  });

  test.each([
    ['HUB_CALL_TIMEOUT', 'modern', 'server/discover'],
    ['HUB_SERVER_START_FAILED', 'legacy', 'initialize'],
  ] as const)(
    'that timed out after %s names its request, with a hint about the era',
    (code, era, method) => {
      const late = new HubError(code, 'late');
      const error = unheard({ ...config, era }, late);
      assert.ok(error instanceof HubError);
      assert.equal(error.code, 'HUB_SERVER_START_FAILED');
      assert.ok(
        error.message.startsWith(
          `it did not answer ${method} within 2.5 s. Raise "start_timeout" if it needs longer, or set "era"`,
        ),
        error.message,
      );
      assert.equal(error.cause, late);
    },
  );

  test.each<[string, unknown]>([
    ['an outage', new HubError('HUB_ENGINE_UNREACHABLE', 'away')],
    [
      'a channel that an outage closed',
      new HubError('HUB_SERVER_DOWN', 'gone', {
        cause: new HubError('HUB_ENGINE_UNREACHABLE', 'away'),
      }),
    ],
    ['a refusal', new HubError('HUB_SERVER_PROTOCOL', 'no')],
    ['a bug', new TypeError('no')],
  ])('is unchanged after %s', (_, error) => {
    assert.equal(unheard(config, error), error);
  });
});
