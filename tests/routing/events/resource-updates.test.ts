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

const titles = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `${from + at}`);

test('a flood of updates reaches many subscribers at once, and with its last update after each interval', () => {
  const { clock, one, sent, update, copies } = scene(500);
  for (const title of titles(0, 1_000)) update(one, 'x://a', title);
  assert.deepEqual(sent, titles(0, 10));
  clock.advance(999);
  assert.equal(sent.length, 10);
  clock.advance(1);
  assert.deepEqual(sent.splice(0), [...titles(0, 10), '999']);
  for (const title of titles(0, 1_000)) update(one, 'x://a', title);
  assert.deepEqual(sent, titles(0, 9));
  clock.advance(1_000);
  assert.deepEqual(sent.splice(0), [...titles(0, 9), '999']);
  clock.advance(1_000);
  assert.equal(clock.waiting, 0);
  update(one, 'x://a', 'later');
  assert.deepEqual(sent, ['later']);
  assert.equal(copies(), 22 * 500);
});

test('a flood of updates of many resources is bounded together, and each resource has its last update', () => {
  const { clock, one, sent, update } = scene(2_000);
  for (const title of titles(0, 100)) update(one, `x://${Number(title) % 5}`, title);
  assert.deepEqual(sent.splice(0), titles(0, 3));
  const last: string[] = [];
  for (let seconds = 0; seconds < 3; seconds++) {
    clock.advance(1_000);
    assert.ok(sent.length <= 3, `${sent.length} updates in a second`);
    last.push(...sent.splice(0));
  }
  assert.deepEqual(last.toSorted(), titles(95, 100));
});

test('few subscribers get every update, and servers do not wait for each other', () => {
  const few = scene(5);
  for (const what of titles(0, 900)) few.update(few.one, 'x://a', what);
  assert.deepEqual(few.sent, titles(0, 900));
  const many = scene(5_000);
  many.update(many.one, 'x://a', 'a');
  many.update(many.one, 'x://a', 'b');
  many.update(many.two, 'x://a', 'c');
  assert.deepEqual(many.sent, ['a', 'c']);
});
