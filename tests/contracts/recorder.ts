import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Channel, type Message, rawText } from '#jsonrpc';

/** Messages received on a channel. */
export type Recorder = {
  readonly messages: readonly Message[];
  /** For each message, the id of the request that it was received in reply to, if known. */
  readonly about: readonly (string | undefined)[];
  readonly oversized: readonly { readonly id: string | undefined; readonly bytes: number }[];
  readonly noise: readonly string[];
  /** Resolves with the answer to the request with this id, as text. */
  answer(id: number, waitMs?: number): Promise<string>;
  /** Resolves with `count` notifications of this method, as texts. */
  notifications(method: string, count: number): Promise<readonly string[]>;
};

/** Listens to a channel and records all messages. */
export function record(channel: Channel): Recorder {
  const messages: Message[] = [];
  const about: (string | undefined)[] = [];
  const oversized: { readonly id: string | undefined; readonly bytes: number }[] = [];
  const noise: string[] = [];
  channel.listen({
    message(message, id) {
      messages.push(message);
      about.push(id);
    },
    oversized: line => void oversized.push(line),
    noise: text => void noise.push(text),
  });
  const isAnswerTo = (id: number) => (message: Message) =>
    message.kind === 'answer' &&
    message.id !== undefined &&
    rawText(message.bytes, message.id) === String(id);
  return {
    messages,
    about,
    oversized,
    noise,
    async answer(id, waitMs) {
      await until(() => messages.some(isAnswerTo(id)), `the answer to ${id}`, waitMs);
      const found = messages.filter(isAnswerTo(id));
      assert.equal(found.length, 1, `request ${id} was answered ${found.length} times`);
      return found[0]?.bytes.toString() ?? '';
    },
    async notifications(method, count) {
      const found = () =>
        messages.filter(message => message.kind === 'notification' && message.method === method);
      await until(() => found().length >= count, `${count} of ${method}`);
      return found().map(({ bytes }) => bytes.toString());
    },
  };
}

/** Waits until `isTrue` returns true. Fails after `waitMs`. */
export async function until(isTrue: () => boolean, what: string, waitMs = 15_000): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (!isTrue()) {
    assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
    await delay(5);
  }
}

/** Encodes a request, or a notification if there is no id. */
export function call(id: number | undefined, method: string, params: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}
