import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type TestHub, configOf, startHub, until } from '#helpers/hub';
import type { Endpoint } from '#routing';
import { openAsked } from '../asking.ts';
import { at, openModern, textOf } from '../modern.ts';

const related = 'io.modelcontextprotocol/related-task';
const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };

async function openMaker(hub: TestHub, endpoint: Endpoint, reply?: () => object) {
  const client = openAsked(hub, endpoint, reply);
  await client.initialize({ sampling: {} });
  return {
    ...client,
    /** Creates a task, and returns its id. */
    async make(name: string, given: object = {}): Promise<unknown> {
      const answer = await client.ask('tools/call', { name, arguments: given, task: { ttl: 1 } });
      return at(answer, 'result', 'task', 'taskId');
    },
    listed: async () => at(await client.ask('tasks/list'), 'result', 'tasks'),
    statuses: () =>
      client.told
        .filter(({ method }) => method === 'notifications/tasks/status')
        .map(told => at(told, 'params', 'taskId')),
  };
}

const idsIn = (tasks: unknown) =>
  Array.isArray(tasks) ? tasks.map(task => at(task, 'taskId')) : tasks;

test('tasks of an instance that was replaced have ended, and their ids belong to the next instance', async () => {
  await using hub = await startHub([{ name: 'asker' }]);
  const endpoint = hub.server('asker');
  const [ada, eve] = [await openMaker(hub, endpoint), await openMaker(hub, endpoint)];
  assert.equal(await ada.make('hold'), 'task-1');
  await endpoint.reconfigure(configOf({ name: 'asker', env: { INFO: '{}' } }), true);
  assert.equal(await eve.make('hold'), 'task-1');
  assert.deepEqual(idsIn(await eve.listed()), ['task-1']);
  assert.deepEqual(await ada.listed(), []);
});

describe('tasks at instances per session', () => {
  test.for(['one', 'all'])(
    'are separate from those of other sessions, though their ids are equal, at %s',
    async kind => {
      await using hub = await startHub([{ name: 'asker', instance: 'session' }]);
      const endpoint = kind === 'all' ? 'all' : hub.server('asker');
      const name = kind === 'all' ? 'asker_hold' : 'hold';
      const clients = [await openMaker(hub, endpoint), await openMaker(hub, endpoint)];
      for (const client of clients) assert.equal(await client.make(name), 'task-1');
      for (const client of clients) {
        await client.ask('tasks/cancel', { taskId: 'task-1' });
        const got = await client.ask('tasks/get', { taskId: 'task-1' });
        assert.equal(at(got, 'result', 'taskId'), 'task-1');
        assert.deepEqual(idsIn(await client.listed()), ['task-1']);
        await until(() => client.statuses().length > 0);
        assert.deepEqual(client.statuses(), ['task-1']);
      }
    },
  );

  test('send requests to their own session', async () => {
    await using hub = await startHub([{ name: 'asker', instance: 'session' }]);
    const endpoint = hub.server('asker');
    const [ada, eve] = [await openMaker(hub, endpoint), await openMaker(hub, endpoint)];
    await ada.make('hold');
    await eve.make('ask', { method: 'sampling/createMessage', params: {} });
    await until(() => eve.asked.length > 0);
    assert.equal(ada.asked.length, 0);
  });

  test('are removed with their instance', async () => {
    await using hub = await startHub([{ name: 'asker', instance: 'session' }]);
    const ada = await openMaker(hub, hub.server('asker'));
    await ada.make('hold');
    await ada.call('crash');
    const { error } = await ada.ask('tasks/get', { taskId: 'task-1' });
    assert.match(String(at(error, 'message')), /this session has no task "task-1"/);
  });
});

describe('the progress of a task after the answer that created it', () => {
  const progress = ({ told }: { readonly told: readonly object[] }) =>
    told.filter(message => at(message, 'method') === 'notifications/progress');
  const made = (name: string, progressToken: unknown) => ({
    name,
    task: {},
    _meta: { progressToken },
  });

  test('goes to its session only, under the token of its request', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const [ada, eve] = [await openMaker(hub, 'all'), await openMaker(hub, 'all')];
    for (const client of [ada, eve]) {
      await client.ask('tools/call', made('asker_hold', 'shared'));
      await until(() => client.statuses().length > 0);
    }
    for (const client of [ada, eve])
      assert.deepEqual(
        progress(client).map(message => at(message, 'params')),
        [{ progressToken: 'shared', progress: 1 }],
      );
  });

  test('is dropped once the session has ended', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const [ada, eve] = [await openMaker(hub, 'all'), await openMaker(hub, 'all')];
    const call = ada.ask('tools/call', made('asker_hold', 1));
    ada.session.close('gone');
    await call;
    await eve.make('asker_hold');
    await until(() => eve.statuses().length > 0);
    assert.deepEqual([...progress(ada), ...progress(eve)], []);
  });
});

describe('tasks of two servers on the endpoint of all', () => {
  const two = [
    { name: 'asker', callTimeoutMs: 5_000 },
    { name: 'other', file: 'asker.mjs' },
  ];

  test('with the same id are two tasks, and the second gets the name of its server as a prefix', async () => {
    await using hub = await startHub(two);
    const ada = await openMaker(hub, 'all');
    assert.equal(await ada.make('asker_hold'), 'task-1');
    assert.equal(await ada.make('other_hold'), 'other+task-1');
    const cancelled = await ada.ask('tasks/cancel', { taskId: 'other+task-1' });
    assert.equal(at(cancelled, 'result', 'taskId'), 'other+task-1');
    assert.equal(at(cancelled, 'result', 'status'), 'cancelled');
    const result = await ada.ask('tasks/result', { taskId: 'other+task-1' });
    assert.equal(at(result, 'result', '_meta', related, 'taskId'), 'other+task-1');
    assert.deepEqual(idsIn(await ada.listed()), ['task-1', 'other+task-1']);
    await until(() => ada.statuses().length === 2);
    assert.deepEqual(new Set(ada.statuses()), new Set(['task-1', 'other+task-1']));
    const eve = await openMaker(hub, 'all');
    assert.equal(await eve.make('other_hold'), 'task-2', 'another session has none of those ids');
    assert.match(
      JSON.stringify(await eve.ask('tasks/get', { taskId: 'other+task-1' })),
      /this session has no task/,
    );
  });

  test('send requests to their client with the id that it knows, and get that of the server', async () => {
    await using hub = await startHub(two);
    const ada = await openMaker(hub, 'all', () => ({
      ...sampled,
      _meta: { [related]: { taskId: 'other+task-1' } },
    }));
    await ada.make('asker_hold');
    await ada.make('other_ask', { method: 'sampling/createMessage', params: {} });
    await until(() => ada.asked.length > 0);
    assert.equal(at(ada.asked[0]?.params, '_meta', related, 'taskId'), 'other+task-1');
    let heard: unknown;
    do heard = await ada.call('other_answered');
    while (Array.isArray(heard) && heard.length === 0);
    assert.ok(Array.isArray(heard));
    assert.equal(at(heard[0], '_meta', related, 'taskId'), 'task-1');
  });
});

describe('a task id that a server gave to two clients', () => {
  test('belongs to neither, until one of them is gone', async () => {
    await using hub = await startHub([{ name: 'asker', env: { ONE_TASK_ID: '1' } }]);
    const endpoint = hub.server('asker');
    const [ada, eve] = [await openMaker(hub, endpoint), await openMaker(hub, endpoint)];
    assert.equal(await ada.make('hold'), 'task-1');
    assert.equal(await eve.make('hold'), 'task-1');
    const reach = (client: typeof ada) => client.ask('tasks/get', { taskId: 'task-1' });
    assert.match(JSON.stringify(await reach(ada)), /no task/);
    assert.match(JSON.stringify(await reach(eve)), /no task/);
    assert.deepEqual(await eve.listed(), []);
    ada.session.close('gone');
    assert.equal(at(await reach(eve), 'result', 'status'), 'working');
  });
});

describe('tasks of clients without a session', () => {
  const two = ['first', 'second'].map(name => ({
    name,
    file: 'stateless.mjs',
    env: { NAME: name },
  }));
  const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

  test('with the same id at two servers can each be requested, and notify their clients', async () => {
    await using hub = await startHub(two);
    const ada = openModern(hub, 'all', extension);
    const made = [await ada.call('first_make'), await ada.call('second_make')];
    const ids = made.map(({ result }) => String(result['taskId']));
    assert.deepEqual(ids, ['task-1', 'second+task-1']);
    for (const [number, taskId] of ids.entries()) {
      const got = await ada.ask('tasks/get', { taskId });
      assert.equal(at(got, 'result', 'taskId'), taskId);
      assert.equal(at(got, 'result', 'statusMessage'), two[number]?.name);
    }
    for (const [taskId, teller, other] of [
      ['second+task-1', 'second', 'first'],
      ['task-1', 'first', 'second'],
    ] as const) {
      const listener = openModern(hub, 'all', extension);
      void listener.ask('subscriptions/listen', { notifications: { taskIds: [taskId] } });
      await until(() => listener.told.length > 0);
      listener.told.length = 0;
      const tell = async (name: string) =>
        textOf((await ada.call(`${name}_tell`, { taskId: 'task-1' })).result);
      await tell(other);
      // The server may not know of the subscription yet when it sends the first notification.
      do await tell(teller);
      while (listener.told.length === 0);
      for (const told of listener.told) {
        assert.equal(at(told, 'params', 'taskId'), taskId);
        assert.equal(at(told, 'params', 'statusMessage'), teller);
      }
      listener.session.close('told');
    }
  });
});

test('a request without a session cannot create a task, which no client could request', async () => {
  await using hub = await startHub([{ name: 'asker' }]);
  const params = { name: 'hold', arguments: {}, task: { ttl: 60_000 } };
  const answer = await fetch(`${hub.url}/mcp/asker/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(params),
  });
  assert.match(await answer.text(), /"params.task\\": a task outlives its request/);
});
