import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import type { Channel } from '#jsonrpc';
import { call, record, until } from './recorder.ts';

type Bounds = { readonly maxLineBytes: number; readonly maxWaitingBytes: number };

/** A channel whose other end behaves as `obedient.ts` describes. */
type Opened = {
  readonly channel: Channel;
  /** Resolves once the other end has sent an answer. */
  readonly answered: Promise<void>;
  /** Closes both ends. */
  stop(): Promise<unknown>;
};

type ChannelKind = {
  readonly name: string;
  /** Whether messages of one event loop turn reach the other end in one chunk. */
  readonly joins: boolean;
  open(bounds: Bounds): Promise<Opened>;
};

const bounds: Bounds = { maxLineBytes: 8 * 2 ** 20, maxWaitingBytes: 2 ** 20 };

/** Tests that every implementation of `Channel` must pass. */
export function channelContract(kind: ChannelKind): void {
  const opened = async (run: (opened: Opened) => Promise<void>) => {
    const end = await kind.open(bounds);
    try {
      await run(end);
    } finally {
      await end.stop();
    }
  };

  describe(`a channel over ${kind.name}`, () => {
    test('delivers messages in the order in which they were sent', () =>
      opened(async ({ channel }) => {
        const heard = record(channel);
        const texts = Array.from({ length: 1000 }, (_, index) =>
          call(undefined, 'said', { index }).toString(),
        );
        channel.send(call(undefined, 'say', { texts }));
        assert.deepEqual(await heard.notifications('said', 1000), texts);
      }));

    if (kind.joins)
      test('writes the messages of one turn at once', () =>
        opened(async ({ channel }) => {
          const heard = record(channel);
          channel.send(call(1, 'reads'));
          const before = Number(/"reads":(\d+)/.exec(await heard.answer(1))?.[1]);
          for (let index = 0; index < 200; index++) channel.send(call(undefined, 'nothing'));
          channel.send(call(2, 'reads'));
          assert.match(await heard.answer(2), new RegExp(`"reads":${before + 1}\\b`));
        }));

    test('keeps messages that arrive before there is a listener', () =>
      opened(async ({ channel, answered }) => {
        channel.send(call(1, 'echo', { early: true }));
        await answered;
        // The other end has sent the answer. If it exits now, only the channel can still have the answer.
        channel.send(call(undefined, 'die'));
        await channel.closed;
        assert.match(await record(channel).answer(1), /"early":true/);
      }));

    test('settles closed once, with the first reason', () =>
      opened(async ({ channel }) => {
        channel.close('first');
        channel.close('second');
        assert.deepEqual(await channel.closed, { reason: 'first' });
      }));

    test('refuses to send once it is closed', () =>
      opened(async ({ channel }) => {
        channel.close('it is enough');
        assert.throws(() => channel.send(call(1, 'echo')), {
          code: 'HUB_SERVER_DOWN',
          message: /it is enough/,
        });
      }));

    test('closes with an error when the other end ends', () =>
      opened(async ({ channel }) => {
        channel.send(call(undefined, 'die'));
        const { reason, error } = await channel.closed;
        assert.ok(error, 'the end was not asked for');
        assert.notEqual(reason, '');
        assert.throws(() => channel.send(call(1, 'echo')), { code: 'HUB_SERVER_DOWN' });
      }));

    test('passes a message of five megabytes in both directions', () =>
      opened(async ({ channel }) => {
        const heard = record(channel);
        const text = 'äöü€'.repeat(500_000);
        channel.send(call(1, 'echo', { text }));
        // Not `assert.equal`, as its failure would print the whole text.
        assert.ok((await heard.answer(1)).includes(`"${text}"`), 'it is not what was sent');
      }));

    test('reports a message above the limit, and continues', () =>
      opened(async ({ channel }) => {
        const heard = record(channel);
        channel.send(call(7, 'fill', { bytes: bounds.maxLineBytes + 1 }));
        await until(() => heard.oversized.length > 0, 'the report');
        assert.equal(heard.oversized[0]?.id, '7');
        channel.send(call(8, 'echo', { after: true }));
        assert.match(await heard.answer(8), /"after":true/);
      }));

    test('reports output that is not a message, and continues', () =>
      opened(async ({ channel }) => {
        const heard = record(channel);
        const texts = ['Server listening', call(undefined, 'said').toString()];
        channel.send(call(undefined, 'say', { texts }));
        const [said] = await heard.notifications('said', 1);
        assert.equal(said, texts[1]);
        assert.deepEqual(heard.noise, ['Server listening']);
      }));

    test('refuses further messages while the other end does not read', () =>
      opened(async ({ channel }) => {
        record(channel);
        channel.send(call(undefined, 'deafen'));
        const text = 'x'.repeat(bounds.maxWaitingBytes / 2);
        const sendMany = async () => {
          // The operating system buffers a few megabytes at most before a write has to wait.
          for (let id = 1; id <= 100; id++) {
            channel.send(call(id, 'echo', { text }));
            await nextTurn();
          }
        };
        await assert.rejects(sendMany, {
          code: 'HUB_SERVER_BUSY',
          data: { retryable: true, server: 'tested' },
        });
      }));
  });
}
