import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, ownerHeaders, startHub, until } from '#helpers/hub';
import { openClient } from '../../routing/clients.ts';
import { type Response, send } from '../../transports/raw.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }, { name: 'other', file: 'calendar.mjs' }]);
});
afterAll(async () => await hub?.[Symbol.asyncDispose]());

const get = async (query: string) =>
  await send(`${hub.url}/logs${query}`, { headers: ownerHeaders });

const linesIn = (answer: unknown): readonly Record<string, unknown>[] =>
  isObject(answer) && Array.isArray(answer['lines']) ? answer['lines'] : [];

const linesOf = (stream: Response) => stream.messages().flatMap(linesIn);

const write = async (title: string, server = 'calendar') =>
  await openClient(hub).call(`${server}_cancel_event`, { title });

/** Restarts a server, and waits until it is ready. */
const restart = async (server: string) => {
  await hub.server(server).stop(false);
  hub.server(server).start();
  await hub.server(server).ready();
};

describe('GET /logs', () => {
  test('shows the newest run of one server with its times, and the run before', async () => {
    await write('first run');
    await restart('calendar');
    await write('second run');
    await until(() => hub.server('calendar').stderr().includes('second'));
    const now = await (await get('?server=calendar')).json();
    const [began, line] = linesIn(now);
    assert.equal(began?.['event'], 'began');
    assert.deepEqual(
      { ...line, at: Date.parse(String(line?.['at'])) > 1e12 },
      {
        at: true,
        server: 'calendar',
        run: 2,
        by: 'server',
        text: 'cancel_event: {"title":"second run"}',
      },
    );
    const { runs } = now;
    assert.ok(Array.isArray(runs));
    assert.deepEqual(
      runs.map(run => [run.run, run.ended_at === null]),
      [
        [2, true],
        [1, false],
      ],
    );
    const before = linesIn(await (await get('?server=calendar&previous=true')).json());
    assert.match(String(before[1]?.['text']), /first run/);
    assert.equal(before.at(-1)?.['event'], 'ended');
    assert.deepEqual(before, linesIn(await (await get('?server=calendar&back=1')).json()));
  });

  test('shows all servers without a name, and only the hub with ?hub', async () => {
    await write('of the other', 'other');
    await until(() => hub.server('other').stderr() !== '');
    const all = await (await get('')).json();
    assert.deepEqual(
      new Set(linesIn(all).map(({ server }) => server)),
      new Set(['calendar', 'other']),
    );
    assert.ok(!('runs' in all));
    assert.deepEqual(linesIn(await (await get('?hub')).json()), []);
    assert.equal(linesIn(await (await get('?lines=1')).json()).length, 1);
  });

  test('?follow sends the newest lines, later ones, and the runs that begin', async () => {
    const stream = await get('?server=calendar&follow=true&lines=1');
    await until(() => linesOf(stream).length === 1);
    await restart('calendar');
    await write('ghp_abcdefghijklmnopqrstuvwxyz0123');
    await until(() => linesOf(stream).length >= 4);
    const told = linesOf(stream).slice(1);
    assert.deepEqual(
      told.map(({ event = 'line' }) => event),
      ['ended', 'began', 'line'],
    );
    assert.match(String(told[2]?.['text']), /\[redacted\]/);
    assert.doesNotMatch(JSON.stringify(told), /ghp_/);
  });

  test.for([
    ['?server=nobody', 404, /HUB_SERVER_UNKNOWN/],
    ['?tail=5', 400, /tail: is not a parameter/],
    ['?previous&back=2', 400, /previous: means back=1/],
    ['?previous&follow', 400, /follow: only the newest run/],
    ['?lines=20000', 400, /lines: \\"20000\\" is not allowed/],
  ] as const)('refuses %s', async ([query, status, message]) => {
    const response = await get(query);
    assert.equal(response.status, status);
    assert.match(await response.body(), message);
  });

  test('is for the owner only', async () => {
    assert.equal((await send(`${hub.url}/logs`)).status, 401);
  });

  test.each([
    ['?server=calendar,other&follow=true', 1, ['calendar', 'other']],
    ['?server=calendar&follow=true', 0, ['calendar']],
    ['?follow=true', 1, ['added', 'calendar', 'other']],
    ['?follow=true', 0, ['added', 'calendar']],
  ])('%s with %i other servers follows %j, when one is added', async (query, others, expected) => {
    const naming = { separator: '_', maxLength: 46 } as const;
    const [calendar, other] = ['calendar', 'other'].map(name => hub.server(name).config);
    assert.ok(calendar && other);
    const first = [calendar, other].slice(0, others + 1);
    await hub.servers.apply({ servers: first, naming });
    const stream = await get(query);
    const added = { ...calendar, name: 'added' };
    await hub.servers.apply({ servers: [...first, added], naming });
    await hub.server('added').ready();
    for (const { name } of [added, ...first]) await restart(name);
    // The servers of before are restarted last: what was written before is in the stream then.
    const begins = (name: string) =>
      linesOf(stream).filter(({ server, event }) => server === name && event === 'began').length;
    await until(() => first.every(({ name }) => begins(name) > 1));
    const found = new Set(linesOf(stream).map(({ server }) => String(server)));
    await hub.servers.apply({ servers: [calendar, other], naming });
    await hub.server('other').ready();
    assert.deepEqual([...found].toSorted(), expected);
  });

  test('a stream of one server ends when the server is removed', async () => {
    const stream = await get('?server=other&follow=true');
    await hub.servers.apply({
      servers: [hub.server('calendar').config],
      naming: { separator: '_', maxLength: 46 },
    });
    await until(() => stream.ended());
  });
});
