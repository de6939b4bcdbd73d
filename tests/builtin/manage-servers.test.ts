import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter, isObject } from '#core';
import { type Fixture, type HubOptions, startHub, until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import type { Observed, Endpoint } from '#routing';
import { openAsked } from '../routing/asking.ts';
import { namesIn } from '../routing/clients.ts';
import { at, openModern } from '../routing/modern.ts';

const owner: Principal = { kind: 'local', name: 'owner', grants: { administer: true } };

const bare = ['list_servers', 'start_server', 'stop_server', 'restart_server', 'server_logs'];
const managed = bare.map(name => `agenthub_${name}`);

/** Starts a hub whose management tools can be switched on and off. */
async function startManaged(fixtures: readonly Fixture[], options: HubOptions = {}) {
  const { event: changed, fire } = createEmitter<void>();
  let isOn = true;
  const hub = await startHub(fixtures, { management: { isOn: () => isOn, changed }, ...options });
  return Object.assign(hub, {
    manage(is: boolean) {
      isOn = is;
      fire();
    },
  });
}

type Managed = Awaited<ReturnType<typeof startManaged>>;

/** Returns the endpoint of the server `agenthub`. */
const agenthub = ({ shown }: Managed): Endpoint => shown.get('agenthub');

const eras = [
  [
    '2025-11-25',
    async (hub: Managed, endpoint: Endpoint, principal: Principal) => {
      const client = openAsked(hub, endpoint, undefined, principal);
      await client.initialize({});
      return client;
    },
  ],
  [
    '2026-07-28',
    async (hub: Managed, endpoint: Endpoint, principal: Principal) =>
      openModern(hub, endpoint, {}, undefined, principal),
  ],
] as const;

const toolsOf = (answer: object) =>
  namesIn(at(answer, 'result', 'tools')).filter(name => !name.startsWith('echo_'));

describe.each(eras)('a client of %s', (_era, open) => {
  test('that may administer the hub is listed the management tools, by all endpoints', async () => {
    await using hub = await startManaged([{ name: 'echo' }]);
    assert.deepEqual(toolsOf(await (await open(hub, 'all', owner)).ask('tools/list')), managed);
    assert.deepEqual(
      toolsOf(await (await open(hub, agenthub(hub), owner)).ask('tools/list')),
      bare,
    );
    assert.deepEqual(toolsOf(await (await open(hub, 'all', caller)).ask('tools/list')), []);
    assert.deepEqual(toolsOf(await (await open(hub, agenthub(hub), caller)).ask('tools/list')), []);
  });

  test('that may not administer the hub cannot call any of them: each is unknown', async () => {
    await using hub = await startManaged([{ name: 'echo' }]);
    for (const [endpoint, names] of [
      ['all', managed],
      [agenthub(hub), bare],
    ] as const) {
      const client = await open(hub, endpoint, caller);
      for (const name of names) {
        const answer = await client.ask('tools/call', { name, arguments: { server: 'echo' } });
        assert.equal(at(answer, 'error', 'code'), -32602, name);
        assert.match(
          String(at(answer, 'error', 'message')),
          new RegExp(`^no tool is called "${name}"`),
        );
      }
    }
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test('does not see the tools while management is off, even as the owner', async () => {
    await using hub = await startManaged([{ name: 'echo' }]);
    hub.manage(false);
    const client = await open(hub, 'all', owner);
    assert.deepEqual(toolsOf(await client.ask('tools/list')), []);
    const name = 'agenthub_list_servers';
    const answer = await client.ask('tools/call', { name, arguments: {} });
    assert.equal(at(answer, 'error', 'code'), -32602);
  });
});

describe('the owner', () => {
  const call = async (hub: Managed, name: string, args: object = {}) => {
    const client = openModern(hub, 'all', {}, undefined, owner);
    const { result } = await client.call(`agenthub_${name}`, args);
    return { structured: result['structuredContent'], text: at(result, 'content'), result };
  };
  const stateOf = async (hub: Managed, name: string, args: object) =>
    at((await call(hub, name, args)).structured, 'state');

  test('stops, starts and restarts a server', async () => {
    await using hub = await startManaged([{ name: 'echo' }]);
    const server = { server: 'echo' };
    assert.equal(await stateOf(hub, 'stop_server', server), 'stopped');
    assert.deepEqual(hub.server('echo').status, { state: 'stopped', byHand: true });
    assert.equal(await stateOf(hub, 'start_server', server), 'running');
    const before = hub.server('echo').running;
    assert.equal(await stateOf(hub, 'restart_server', server), 'running');
    assert.notEqual(hub.server('echo').running, before);
  });

  test('lists the servers, with that of the hub itself', async () => {
    await using hub = await startManaged([{ name: 'echo' }]);
    const { structured } = await call(hub, 'list_servers');
    const servers = at(structured, 'servers');
    assert.deepEqual(namesIn(servers), ['agenthub', 'echo']);
    assert.deepEqual(namesIn(servers, 'state'), ['running', 'running']);
  });

  test('reads the last lines that a server wrote to stderr', async () => {
    const fixture = { name: 'broken', file: 'exit-at-once.mjs', maxRestarts: 0 };
    await using hub = await startManaged([{ ...fixture, autoStart: false }]);
    const none = await call(hub, 'server_logs', { server: 'broken' });
    assert.deepEqual(none.structured, { server: 'broken', lines: [] });
    const { result } = await call(hub, 'start_server', { server: 'broken' });
    assert.equal(result['isError'], true);
    const { structured } = await call(hub, 'server_logs', { server: 'broken', lines: 1 });
    assert.deepEqual(structured, { server: 'broken', lines: ['fatal: API_KEY is not set'] });
  });

  test.each([
    ['start_server', {}, 'server: is missing: write a string'],
    ['server_logs', { server: 'echo', lines: 0 }, 'lines: 0 is too small: write 1 or more'],
    ['stop_server', { server: 'none' }, /^no server is called "none"\. The config has: echo$/],
    ['stop_server', { server: 'agenthub' }, /^agenthub is part of the hub/],
  ])('gets a tool error that says what is wrong with %s %j', async (name, args, message) => {
    await using hub = await startManaged([{ name: 'echo' }]);
    const { result } = await call(hub, name, args);
    assert.equal(result['isError'], true);
    const [content] = Array.isArray(result['content']) ? result['content'] : [];
    const text = isObject(content) ? String(content['text']) : '';
    if (typeof message === 'string') assert.equal(text, message);
    else assert.match(text, message);
  });

  test('is notified that the list changed when management is switched', async () => {
    await using hub = await startManaged([]);
    const client = openAsked(hub, 'all', undefined, owner);
    await client.initialize({});
    hub.manage(false);
    await until(() =>
      client.told.some(({ method }) => method === 'notifications/tools/list_changed'),
    );
    assert.deepEqual(toolsOf(await client.ask('tools/list')), []);
  });

  test('gets lists marked as private for shared caches', async () => {
    await using hub = await startManaged([]);
    const listed = await openModern(hub, 'all', {}, undefined, owner).ask('tools/list');
    assert.equal(at(listed, 'result', 'cacheScope'), 'private');
  });
});

test('calls are observed with the name of the server', async () => {
  const seen: Observed[] = [];
  await using hub = await startManaged([{ name: 'echo' }], {
    observer: one => void seen.push(one),
  });
  const client = openModern(hub, 'all', {}, undefined, owner);
  await client.call('agenthub_list_servers');
  await client.call('agenthub_stop_server', { server: 'none' });
  await openModern(hub, 'all').call('agenthub_list_servers');
  assert.deepEqual(
    seen.map(({ server, name, outcome }) => [server, name, outcome]),
    [
      ['agenthub', 'agenthub_list_servers', 'ok'],
      ['agenthub', 'agenthub_stop_server', 'tool_error'],
      ['agenthub', 'agenthub_list_servers', 'HUB_NAME_UNKNOWN'],
    ],
  );
});

test('the tools are named as the config names those of all servers', async () => {
  await using hub = await startManaged([], { naming: { separator: '__' } });
  const listed = await openModern(hub, 'all', {}, undefined, owner).ask('tools/list');
  assert.deepEqual(
    toolsOf(listed),
    bare.map(name => `agenthub__${name}`),
  );
});

test('the dashboard shows the server of the hub without actions, but with its tools', async () => {
  await using hub = await startManaged([{ name: 'echo' }]);
  const page = async (path: string) => {
    const answer = await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders });
    assert.equal(answer.status, 200, path);
    return await answer.text();
  };
  const own = await page('/dashboard/servers/agenthub');
  assert.match(own, /<dt>Runs in<\/dt><dd>hub</);
  assert.match(own, /list_servers/);
  assert.doesNotMatch(own, /servers\/agenthub\/(stop|restart|remove)/);
  assert.match(await page('/dashboard/servers/echo'), /remove-echo/);
  const stopped = await fetch(`${hub.url}/servers/agenthub/stop`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  assert.equal(stopped.status, 400);
});
