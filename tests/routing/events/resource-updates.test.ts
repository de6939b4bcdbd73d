import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { readMessage } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerNotification } from '#upstream';
import { createResourceUpdates } from '../../../hub/routing/events/resource-updates.ts';
import type { Subscriber } from '../../../hub/routing/events/subscriptions.ts';
import { createScriptedServer } from '../scripted-server.ts';

function scene(subscribers: number) {
  const clock = createManualClock();
  const [one, two] = ['one', 'two'].map(name => createScriptedServer({ name }, {}).server);
  assert.ok(one && two);
  const sent: string[] = [];
  let copies = 0;
  const concerned = new Map(
    Array.from({ length: subscribers }, (_, at): [Subscriber, string] => [
      {
        endpoint: 'all',
        principal: caller,
        send: bytes =>
          void (at === 0 && sent.push(/"title":"(.*?)"/.exec(bytes.toString())?.[1] ?? '')),
        isConnected: () => true,
      },
      'x://a',
    ]),
  );
  const updated = createResourceUpdates({ clock, subscriptions: { concernedBy: () => concerned } });
  function update(server: Server, uri: string, title: string): void {
    const params = { uri, title };
    const method = 'notifications/resources/updated';
    const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params })));
    assert.ok(message.kind === 'notification' && server.running);
    const notification: ServerNotification = {
      ...message,
      connection: server.running.upstream,
      copied: count => void (copies += count),
    };
    updated(server, notification);
  }
  return { clock, one, two, sent, update, copies: () => copies };
}

test('a flood of updates reaches many subscribers at once, and with its last update after each interval', () => {
  const { clock, one, sent, update, copies } = scene(300);
  for (let count = 0; count < 1_000; count++) update(one, 'x://a', `${count}`);
  assert.deepEqual(sent, ['0']);
  clock.advance(299);
  assert.deepEqual(sent, ['0']);
  clock.advance(1);
  assert.deepEqual(sent, ['0', '999']);
  update(one, 'x://a', 'next');
  clock.advance(300);
  assert.deepEqual(sent, ['0', '999', 'next']);
  clock.advance(300);
  assert.equal(clock.waiting, 0);
  update(one, 'x://a', 'later');
  assert.deepEqual(sent, ['0', '999', 'next', 'later']);
  assert.equal(copies(), 4 * 300);
});

test('few subscribers get every update, and resources and servers do not wait for each other', () => {
  const few = scene(9);
  for (const what of ['a', 'b', 'c']) few.update(few.one, 'x://a', what);
  assert.deepEqual(few.sent, ['a', 'b', 'c']);
  assert.equal(few.clock.waiting, 0);
  const many = scene(10);
  many.update(many.one, 'x://a', 'a');
  many.update(many.one, 'x://b', 'b');
  many.update(many.two, 'x://a', 'c');
  assert.deepEqual(many.sent, ['a', 'b', 'c']);
});
