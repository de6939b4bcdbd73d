import assert from 'node:assert/strict';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { startHub, until } from '#helpers/hub';
import { send } from '../transports/raw.ts';

const eventsIn = (text: string) =>
  [...text.matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);

test('an open page is told which of its parts have changed, each once a second at the most', async () => {
  await using hub = await startHub([{ name: 'notes', file: 'stateful.mjs' }, { name: 'echo' }]);
  const stream = await send(`${hub.url}/dashboard/events?server=notes`);
  assert.equal(stream.status, 200);
  assert.equal(stream.headers['content-type'], 'text/event-stream');
  await using client = await connect(`${hub.url}/mcp`);
  const isTold = (...names: readonly string[]) =>
    until(
      () => names.every(name => eventsIn(stream.text()).includes(name)),
      () => stream.text(),
    );
  // All at once: one after the other they may take seconds.
  await Promise.all(Array.from({ length: 50 }, () => client.call('echo_echo', { text: 'a' })));
  await isTold('activity', 'stats');
  const told = eventsIn(stream.text());
  assert.ok(told.filter(name => name === 'activity').length <= 3, told.join(' '));
  assert.ok(!told.includes('server'), 'nothing has become of the server of the page');

  await hub.server('notes').stop(true);
  await isTold('server', 'health');
  stream.cut();
});

test('a page is not told of what concerns only the page of another server', async () => {
  await using hub = await startHub([{ name: 'notes', file: 'stateful.mjs' }, { name: 'echo' }]);
  const stream = await send(`${hub.url}/dashboard/events?server=echo`);
  await hub.server('notes').stop(true);
  await until(() => eventsIn(stream.text()).includes('health'));
  assert.ok(!eventsIn(stream.text()).includes('server'));
  stream.cut();
});

test('the hub listens to nothing for pages that are closed, and refuses more than a hundred of them', async () => {
  await using hub = await startHub([]);
  const streams = await Promise.all(
    Array.from({ length: 100 }, () => send(`${hub.url}/dashboard/events`)),
  );
  assert.equal((await send(`${hub.url}/dashboard/events`)).status, 503);
  for (const stream of streams) stream.cut();
  let again = 503;
  while (again !== 200) {
    const stream = await send(`${hub.url}/dashboard/events`);
    again = stream.status;
    stream.cut();
  }
});
