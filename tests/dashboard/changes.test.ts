import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter } from '#core';
import { connect } from '#helpers/client';
import { startHub, until } from '#helpers/hub';
import { createChanges } from '../../hub/dashboard/changes.ts';
import { send } from '../transports/raw.ts';

const eventsIn = (text: string) =>
  [...text.matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);

test('an open page is notified of its parts that have changed, each once a second at most', async () => {
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
  // In parallel, because in sequence the calls may take seconds.
  await Promise.all(Array.from({ length: 50 }, () => client.call('echo_echo', { text: 'a' })));
  await isTold('activity', 'stats');
  const told = eventsIn(stream.text());
  assert.ok(told.filter(name => name === 'activity').length <= 3, told.join(' '));
  assert.ok(!told.includes('server'), 'nothing has become of the server of the page');

  await hub.server('notes').stop(true);
  await isTold('server', 'health');
  stream.cut();
});

test('a page is not notified of changes that only the page of another server shows', async () => {
  await using hub = await startHub([{ name: 'notes', file: 'stateful.mjs' }, { name: 'echo' }]);
  const stream = await send(`${hub.url}/dashboard/events?server=echo`);
  await hub.server('notes').stop(true);
  await until(() => eventsIn(stream.text()).includes('health'));
  assert.ok(!eventsIn(stream.text()).includes('server'));
  stream.cut();
});

test('closed pages leave no listeners, and more than a hundred open ones are refused', async () => {
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

describe('the changes of a hub', () => {
  /** Creates an event that counts its listeners. */
  function createCounted() {
    const { event, fire } = createEmitter<undefined>();
    let listeners = 0;
    return {
      fire: () => fire(undefined),
      listeners: () => listeners,
      event: (listener: (value: undefined) => void): Disposable => {
        const subscription = event(listener);
        listeners++;
        return {
          [Symbol.dispose]() {
            listeners--;
            subscription[Symbol.dispose]();
          },
        };
      },
    };
  }

  function createScriptedServer(name: string) {
    const [changed, listed, wrote] = [createCounted(), createCounted(), createCounted()];
    return {
      server: {
        config: { name },
        changed: changed.event,
        listed: listed.event,
        wrote: wrote.event,
      },
      changed,
      listed,
      wrote,
      listeners: () => changed.listeners() + listed.listeners() + wrote.listeners(),
    };
  }

  function open() {
    const echo = createScriptedServer('echo');
    const notes = createScriptedServer('notes');
    const [servers, activity, jobs] = [createCounted(), createCounted(), createCounted()];
    const agents = createEmitter<{ readonly event: { readonly type: string } }>();
    const pins = createEmitter<readonly string[]>();
    const all = [echo.server, notes.server];
    const changes = createChanges({
      servers: { all, changed: servers.event },
      activity: { changed: activity.event },
      jobs: { changed: jobs.event },
      agents: { events: agents.event },
      pins: { changed: pins.event },
    });
    /** Opens a page. `told` returns the parts of it that have changed since the last call. */
    const openPage = (server?: string) => {
      const told: string[] = [];
      const page = changes.listen(server, part => void told.push(part));
      return { close: () => page[Symbol.dispose](), told: () => told.splice(0) };
    };
    return { changes, echo, notes, all, servers, activity, jobs, agents, pins, openPage };
  }

  test('are sent to the pages that show them', () => {
    const { changes, echo, servers, activity, jobs, agents, pins, openPage } = open();
    const [overview, own, other] = [openPage(), openPage('echo'), openPage('notes')];
    const rows: readonly (readonly [
      change: () => void,
      all: readonly string[],
      own: readonly string[],
    ])[] = [
      [echo.changed.fire, ['health'], ['health', 'server', 'offers']],
      [echo.listed.fire, ['health', 'pins'], ['health', 'offers', 'pins']],
      [echo.wrote.fire, [], ['log']],
      [servers.fire, ['health', 'pins'], ['health', 'pins']],
      [() => pins.fire(['echo']), ['pins'], ['pins']],
      [jobs.fire, ['install'], ['install']],
      [() => agents.fire({ event: { type: 'text' } }), ['agent'], ['agent']],
      [() => agents.fire({ event: { type: 'outcome' } }), ['agent', 'files'], ['agent', 'files']],
      [
        activity.fire,
        ['activity', 'stats', 'sessions', 'caches'],
        ['activity', 'stats', 'sessions', 'caches'],
      ],
      [() => changes.note('caches'), ['caches'], ['caches']],
    ];
    for (const [change, ofAll, ofServer] of rows) {
      change();
      assert.deepEqual([overview.told(), own.told(), other.told()], [ofAll, ofServer, ofAll]);
    }
  });

  test('of an added server are sent, and of a removed one no longer', () => {
    const { echo, all, servers, openPage } = open();
    const added = createScriptedServer('added');
    const page = openPage('added');
    all.splice(0, 1, added.server);
    servers.fire();
    assert.deepEqual(page.told(), ['health', 'pins']);
    assert.equal(echo.listeners(), 0);
    added.wrote.fire();
    assert.deepEqual(page.told(), ['log']);
  });

  test('are subscribed to only while a page is open', () => {
    const { echo, notes, servers, activity, jobs, openPage } = open();
    const listeners = () =>
      [echo, notes, servers, activity, jobs].map(source => source.listeners());
    assert.deepEqual(listeners(), [0, 0, 0, 0, 0]);
    const [first, second] = [openPage(), openPage('echo')];
    assert.deepEqual(listeners(), [3, 3, 1, 1, 1]);
    first.close();
    assert.deepEqual(listeners(), [3, 3, 1, 1, 1]);
    first.close();
    second.close();
    assert.deepEqual(listeners(), [0, 0, 0, 0, 0]);
    openPage();
    assert.deepEqual(listeners(), [3, 3, 1, 1, 1]);
  });
});
