import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { noBudget } from '#helpers/budget';
import { createRecordingLog } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { type Message, encodeCall, encodeResult, rawText } from '#jsonrpc';
import type { ResponseStream } from '#upstream';
import { createConnection } from '../../hub/transports/connection.ts';

type Asked = {
  readonly message: Message;
  readonly responseStream: ResponseStream;
  readonly answer: (result: string) => void;
};

/** Waits until an answer is written: the connection sends it one turn of the event loop after it was given. */
async function nextTurn(): Promise<void> {
  await turn();
  await turn();
}

/** Creates a connection whose wire records what is written, to a session that the test answers. */
function connect(
  options: {
    readonly unsentBytes?: number;
    readonly maxInFlight?: number;
    readonly protocolVersion?: string;
  } = {},
) {
  const writes: string[][] = [];
  const ends: string[] = [];
  const asked: Asked[] = [];
  const { log, logged } = createRecordingLog();
  let told: (bytes: Buffer) => void = () => {};
  const connection = createConnection(
    {
      write: messages => void writes.push(messages.map(String)),
      unsentBytes: () => options.unsentBytes ?? 0,
      close: reason => void ends.push(`closed: ${reason}`),
      drop: reason => void ends.push(`dropped: ${reason}`),
      keepAlive() {},
    },
    { maxUnsentBytes: 1_000, maxInFlight: options.maxInFlight ?? 10 },
    {
      unread: noBudget,
      open(send) {
        told = send;
        return {
          principal: caller,
          protocolVersion: options.protocolVersion ?? '2025-11-25',
          accept(message, responseStream) {
            const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
            const id = message.kind === 'request' ? rawText(message.bytes, message.id) : undefined;
            const answer = (result: string) =>
              resolve(id === undefined ? undefined : encodeResult(id, result));
            asked.push({ message, responseStream, answer });
            return promise;
          },
          save: () => undefined,
          close(reason) {
            ends.push(`session: ${reason}`);
            for (const { answer } of asked) answer('"cancelled"');
          },
        };
      },
      isDraining: () => false,
      closed: reason => void ends.push(`over: ${reason}`),
      log,
    },
  );
  const receive = (id: number, method = 'tools/call') =>
    connection.receive(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`));
  return { connection, receive, writes, ends, asked, logged, tell: (bytes: Buffer) => told(bytes) };
}

const result = (id: number, text: string) => `{"jsonrpc":"2.0","id":${id},"result":${text}}`;

describe('a connection', () => {
  test('writes all messages of one turn at once, in order', async () => {
    const { receive, writes, asked, tell } = connect();
    for (const id of [1, 2, 3]) receive(id);
    asked[0]?.responseStream.send(encodeCall(undefined, 'notifications/progress'));
    for (const { answer } of asked) answer('{}');
    await Promise.resolve().then(() => tell(encodeCall(undefined, 'notifications/message')));
    await nextTurn();
    assert.equal(writes.length, 1);
    assert.deepEqual(writes[0]?.toSorted(), [
      result(1, '{}'),
      result(2, '{}'),
      result(3, '{}'),
      '{"jsonrpc":"2.0","method":"notifications/message"}',
      '{"jsonrpc":"2.0","method":"notifications/progress"}',
    ]);
    assert.match(writes[0]?.[0] ?? '', /progress/);
    receive(4);
    asked[3]?.answer('4');
    await nextTurn();
    assert.deepEqual(writes[1], [result(4, '4')]);
  });

  test('refuses requests above its limit, until others are answered', async () => {
    const { connection, receive, writes, asked } = connect({ maxInFlight: 2 });
    receive(1);
    receive(2, 'subscriptions/listen');
    assert.equal(connection.inFlight, 1);
    receive(3);
    await nextTurn();
    assert.match(writes.flat().join(), /"id":3,.*2 requests of this connection are unanswered/);
    assert.equal(asked.length, 2);
    asked[1]?.answer('{}');
    await nextTurn();
    receive(4);
    assert.equal(asked.length, 3);
  });

  test('that is closed sends the responses to requests in flight, and nothing after that', async () => {
    const { connection, receive, writes, ends, tell } = connect();
    receive(1);
    connection.close('enough');
    receive(2);
    await nextTurn();
    assert.deepEqual(writes, [[result(1, '"cancelled"')]]);
    assert.deepEqual(ends, ['session: enough', 'closed: enough', 'over: enough']);
    connection.close('again');
    connection.gone('again');
    tell(encodeCall(undefined, 'notifications/message'));
    await nextTurn();
    assert.equal(writes.length, 1);
    assert.equal(ends.length, 3);
  });

  test('whose transport is gone sends nothing more', async () => {
    const { connection, receive, writes, ends } = connect();
    receive(1);
    connection.gone('the client hung up');
    await nextTurn();
    assert.deepEqual(writes, []);
    assert.deepEqual(ends, ['session: the client hung up', 'over: the client hung up']);
  });

  test('drops a client above the limit of unread bytes; messages below it wait', async () => {
    const { connection, receive, writes, ends, asked, logged } = connect({ unsentBytes: 900 });
    receive(1);
    receive(2);
    receive(3);
    asked[0]?.answer('1');
    await nextTurn();
    assert.equal(writes.length, 1);
    asked[1]?.answer(`"${'x'.repeat(100)}"`);
    await nextTurn();
    const reason = 'the client does not read: 900 bytes wait for it';
    const ended = [`dropped: ${reason}`, `session: ${reason}`, `over: ${reason}`];
    assert.deepEqual(ends, ended);
    asked[2]?.answer('3');
    connection.drop('again');
    await nextTurn();
    assert.deepEqual(ends, ended);
    const fields = { reason, unsentBytes: 900, inFlight: 1, listening: 0 };
    assert.deepEqual(logged, [{ level: 'warn', message: 'a client is dropped', fields }]);
  });

  test('sends one message of any size to a client that has read everything', async () => {
    const { receive, writes, asked } = connect();
    receive(1);
    asked[0]?.answer(`"${'x'.repeat(100_000)}"`);
    await nextTurn();
    assert.equal(writes[0]?.[0]?.length, result(1, '""').length + 100_000);
  });

  test('drops a client whose batch exceeds the limit of queued responses, and keeps none of them', async () => {
    const { connection, writes, ends, asked } = connect({ protocolVersion: '2025-03-26' });
    const request = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call' });
    const receiveBatch = (...ids: readonly number[]) =>
      connection.receive(Buffer.from(JSON.stringify(ids.map(request))));
    receiveBatch(1, 2);
    asked[1]?.answer(`"${'x'.repeat(400)}"`);
    asked[0]?.answer('{}');
    await nextTurn();
    assert.deepEqual(writes, [[`[${result(1, '{}')},${result(2, `"${'x'.repeat(400)}"`)}]`]]);
    receiveBatch(3, 4, 5);
    asked[2]?.answer(`"${'x'.repeat(500)}"`);
    asked[3]?.answer(`"${'x'.repeat(500)}"`);
    await nextTurn();
    assert.equal(ends[0], 'dropped: the answers to one batch are more than 1000 bytes');
    assert.equal(writes.length, 1);
  });
});
