import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, configOf, startHub, until } from '#helpers/hub';
import { createManualClock } from '#helpers/clock';
import { createClientRequests } from '../../../hub/routing/events/client-requests.ts';
import { createUrlElicitations } from '../../../hub/routing/events/ownership.ts';
import { createTasks } from '../../../hub/routing/tasks/tasks.ts';
import { type Reply, openAsked } from '../asking.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { readRequest, sessionOf } from '../steps/scripted-call.ts';

const sample = { messages: [], maxTokens: 1 };
const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
const all = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

const startAsker = (more: object = {}) => startHub([{ name: 'asker', ...more }]);

async function clientOf(
  hub: TestHub,
  capabilities: object = all,
  reply: () => Reply = () => sampled,
) {
  const client = openAsked(hub, hub.server('asker'), reply);
  await client.initialize(capabilities);
  return client;
}

const messageOf = (value: unknown): string => {
  const error = isObject(value) ? value['error'] : undefined;
  return isObject(error) ? String(error['message']) : assert.fail(JSON.stringify(value));
};

describe('a request of a server', () => {
  test.for(['one', 'all'])(
    'reaches the client in whose call it came, on the endpoint of %s',
    async kind => {
      await using hub = await startAsker();
      const client = openAsked(hub, kind === 'all' ? 'all' : hub.server('asker'), () => sampled);
      await client.initialize(all);
      const name = kind === 'all' ? 'asker_ask' : 'ask';
      const told = await client.call(name, {
        method: 'sampling/createMessage',
        params: { ...sample, x: 1 },
      });
      assert.deepEqual(told, { result: sampled });
      assert.deepEqual(client.asked[0]?.params, { ...sample, x: 1 });
    },
  );

  test('of an instance that is being replaced reaches the client of its call, not that of the next instance', async () => {
    await using hub = await startAsker();
    const first = Promise.withResolvers<object>();
    let answers = 0;
    const ada = openAsked(hub, hub.server('asker'), () =>
      ++answers === 1 ? first.promise : { roots: [] },
    );
    const eve = await clientOf(hub);
    await ada.initialize(all);
    const roots = { method: 'roots/list', params: {} };
    const asked = ada.call('ask-and-wait', { ...roots, next: roots });
    await until(() => ada.asked.length === 1);
    await hub.server('asker').reconfigure(configOf({ name: 'asker', env: { INFO: '{}' } }), true);
    const held = eve.call('hold', { key: 'e' });
    first.resolve({ roots: [] });
    assert.deepEqual(await asked, { result: { roots: [] } });
    assert.equal(eve.asked.length, 0);
    await eve.call('release', { key: 'e' });
    await held;
  });

  test('of an instance that is being replaced is not cancelled by the next instance', async () => {
    await using hub = await startAsker();
    const reply = Promise.withResolvers<object>();
    const ada = await clientOf(hub, all, () => reply.promise);
    const eve = await clientOf(hub, all, () => undefined);
    const roots = { method: 'roots/list', params: {} };
    const asked = ada.call('ask', roots);
    await until(() => ada.asked.length === 1);
    await hub.server('asker').reconfigure(configOf({ name: 'asker', env: { INFO: '{}' } }), true);
    assert.match(messageOf(await eve.call('ask-and-withdraw', roots)), /not needed/);
    reply.resolve({ roots: [] });
    assert.deepEqual(await asked, { result: { roots: [] } });
  });

  test('of an instance that was replaced is cancelled at its client when that instance ends', async () => {
    await using hub = await startAsker();
    const ada = await clientOf(hub, all, () => undefined);
    await ada.call('ask-later', { method: 'roots/list', params: {} });
    await until(() => ada.asked.length === 1);
    await hub.server('asker').reconfigure(configOf({ name: 'asker', env: { INFO: '{}' } }), true);
    const withdrawn = () => ada.told.find(({ method }) => method === 'notifications/cancelled');
    await until(() => withdrawn() !== undefined);
    assert.deepEqual(withdrawn()?.['params'], {
      requestId: ada.asked[0]?.id,
      reason: 'the server is gone',
    });
  });

  test('is refused if the client lacks the capability', async () => {
    await using hub = await startAsker();
    const client = await clientOf(hub, { elicitation: {} });
    const ask = (method: string, params: object = {}) => client.call('ask', { method, params });
    assert.match(messageOf(await ask('sampling/createMessage', sample)), /"sampling"/);
    assert.match(messageOf(await ask('roots/list')), /"roots"/);
    assert.match(messageOf(await ask('elicitation/create', { mode: 'url' })), /"elicitation.url"/);
    assert.equal(client.asked.length, 0);
    assert.deepEqual(await ask('elicitation/create', { message: 'Who?' }), { result: sampled });
  });

  test('is refused if the client supports only URLs or no tools, and the request needs more', async () => {
    await using hub = await startAsker();
    const client = await clientOf(hub, { elicitation: { url: {} }, sampling: {} });
    const ask = (method: string, params: object) => client.call('ask', { method, params });
    for (const mode of [{}, { mode: 'form' }])
      assert.match(
        messageOf(await ask('elicitation/create', { ...mode, message: 'Who?' })),
        /"elicitation.form"/,
      );
    const withTools = { ...sample, tools: [{ name: 'add', inputSchema: { type: 'object' } }] };
    assert.match(messageOf(await ask('sampling/createMessage', withTools)), /"sampling.tools"/);
    assert.equal(client.asked.length, 0);
    assert.deepEqual(await ask('elicitation/create', { mode: 'url' }), { result: sampled });
    assert.deepEqual(await ask('sampling/createMessage', sample), { result: sampled });
  });

  test("returns the client's own error", async () => {
    await using hub = await startAsker();
    const error = { code: -1, message: 'User rejected sampling request', data: { kept: [1] } };
    const client = await clientOf(hub, all, () => ({ error }));
    assert.deepEqual(
      await client.call('ask', { method: 'sampling/createMessage', params: sample }),
      {
        error,
      },
    );
  });

  test('is refused while two clients have calls in flight, with the remedy', async () => {
    await using hub = await startAsker();
    const [ada, alan] = [await clientOf(hub), await clientOf(hub)];
    const held = alan.call('hold', { key: 'a' });
    const told = await ada.call('ask', { method: 'sampling/createMessage', params: sample });
    assert.match(messageOf(told), /several clients .* "instance": "session"/);
    assert.equal(ada.asked.length + alan.asked.length, 0);
    await ada.call('ask', { method: 'roots/list', params: {} });
    await ada.call('release', { key: 'a' });
    await held;
    const { advice } = hub.server('asker');
    assert.equal(advice.length, 1, 'whatever it asks');
    assert.match(advice.join(), /"instance": "session"/);
  });

  test('outside any call reaches the client of a server that only ever served one', async () => {
    await using hub = await startAsker();
    const ada = await clientOf(hub);
    await ada.call('ask-later', { method: 'roots/list', params: {} });
    await until(() => ada.asked.length === 1);
    const alan = await clientOf(hub);
    await alan.call('ask-later', { method: 'roots/list', params: {} });
    await until(() => hub.logged.some(({ message }) => /was refused/.test(message)));
    let answered: unknown;
    do answered = await alan.call('answered');
    while (Array.isArray(answered) && answered.length < 2);
    assert.ok(Array.isArray(answered));
    assert.deepEqual(answered[0], { result: sampled });
    assert.match(messageOf(answered[1]), /while it worked for no client/);
    assert.equal(ada.asked.length + alan.asked.length, 1);
  });

  test('that the server cancels is cancelled at the client, too', async () => {
    await using hub = await startAsker();
    const client = await clientOf(hub, all, () => undefined);
    const told = await client.call('ask-and-withdraw', { method: 'roots/list', params: {} });
    assert.match(messageOf(told), /not needed/);
    const [asked] = client.asked;
    assert.deepEqual(
      client.told.map(({ method, params }) => ({ method, params })),
      [
        {
          method: 'notifications/cancelled',
          params: { requestId: asked?.id, reason: 'not needed' },
        },
      ],
    );
  });

  test('fails when its client disconnects', async () => {
    await using hub = await startAsker();
    const [ada, alan] = [await clientOf(hub, all, () => undefined), await clientOf(hub)];
    const asking = ada.call('ask', { method: 'roots/list', params: {} });
    await until(() => ada.asked.length === 1);
    ada.session.close('gone');
    await asking;
    await alan.call('pid');
    assert.equal(hub.server('asker').running?.upstream.inFlight(), 0);
  });

  test('is refused at once if its client has left, though its call continues for others', () => {
    const requests = createClientRequests({
      clock: createManualClock(),
      tasks: createTasks(),
      urlElicitations: createUrlElicitations(),
    });
    const session = sessionOf();
    session.client = { capabilities: JSON.stringify(all), clientInfo: '{}' };
    session.isOver = true;
    const answers: string[] = [];
    requests.forward(
      {
        request: readRequest('{"jsonrpc":"2.0","id":1,"method":"roots/list"}'),
        about: undefined,
        connection: createScriptedServer({ name: 'own' }).running.upstream,
        source: {},
        tell() {},
        answer: bytes => void answers.push(JSON.parse(bytes.toString()).error.data.code),
      },
      session,
      { send: () => assert.fail('nobody reads it') },
    );
    assert.deepEqual(answers, ['HUB_CLIENT_GONE']);
    const sent = () => requests.sendToClient(session, 'roots/list', undefined, session);
    assert.throws(sent, { code: 'HUB_CLIENT_GONE' });
  });

  test('is cancelled at its client when the server exits', async () => {
    await using hub = await startAsker();
    const ada = await clientOf(hub, all, () => undefined);
    // The call itself is answered, so only the end of the server can end its pending request.
    await ada.call('ask-later', { method: 'roots/list', params: {} });
    await until(() => ada.asked.length === 1);
    void ada.call('crash');
    // The client may first receive the announcement of the lists that changed at the start.
    const withdrawn = () => ada.told.find(({ method }) => method === 'notifications/cancelled');
    await until(() => withdrawn() !== undefined);
    assert.deepEqual(withdrawn(), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: ada.asked[0]?.id, reason: 'the server is gone' },
    });
  });

  test('extends the time of its call while the client works, up to ten minutes', async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ name: 'asker', callTimeoutMs: 500 }], { clock });
    const client = await clientOf(hub, all, () => undefined);
    const told = client.call('ask', { method: 'roots/list', params: {} });
    await until(() => client.asked.length === 1);
    clock.advance(1_000);
    clock.advance(10 * 60_000 + 1);
    assert.match(messageOf(await told), /within 10 minutes/);
    assert.equal(client.told.at(-1)?.['method'], 'notifications/cancelled');
  });

  test('cannot be answered by another session', async () => {
    await using hub = await startAsker();
    const [ada, eve] = [await clientOf(hub, all, () => undefined), await clientOf(hub)];
    const asking = ada.call('ask', { method: 'roots/list', params: {} });
    await until(() => ada.asked.length === 1);
    const id = ada.asked[0]?.id;
    await eve.post({ jsonrpc: '2.0', id, result: { roots: [{ uri: 'file:///evil' }] } });
    await ada.post({ jsonrpc: '2.0', id, result: { roots: [] } });
    assert.deepEqual(await asking, { result: { roots: [] } });
  });

  test('has its progress notifications under its own token', async () => {
    await using hub = await startAsker();
    const client = await clientOf(hub, all, () => undefined);
    const params = { ...sample, _meta: { progressToken: 'mine' } };
    const asking = client.call('ask', { method: 'sampling/createMessage', params });
    await until(() => client.asked.length === 1);
    const asked = client.asked[0];
    const meta = asked?.params['_meta'];
    const progressToken = isObject(meta) ? meta['progressToken'] : undefined;
    assert.equal(progressToken, asked?.id);
    await client.notify('notifications/progress', { progressToken, progress: 1 });
    await client.post({ jsonrpc: '2.0', id: asked?.id, result: sampled });
    await asking;
    const heard = await client.call('heard');
    assert.deepEqual(heard, [
      { method: 'notifications/initialized', params: {} },
      { method: 'notifications/progress', params: { progressToken: 'mine', progress: 1 } },
    ]);
  });
});

test("progress of a client's task follows the response that created it, and only from that client", async () => {
  await using hub = await startAsker();
  const client = await clientOf(hub, { ...all, tasks: {} }, () => undefined);
  const other = await clientOf(hub);
  const params = { ...sample, task: {}, _meta: { progressToken: 'mine' } };
  const asking = client.call('ask', { method: 'sampling/createMessage', params });
  await until(() => client.asked.length === 1);
  const progressToken = client.asked[0]?.id;
  const task = { taskId: 't', status: 'working', ttl: null, createdAt: '', lastUpdatedAt: '' };
  await client.post({ jsonrpc: '2.0', id: progressToken, result: { task } });
  assert.deepEqual(await asking, { result: { task } });
  await client.notify('notifications/progress', { progressToken, progress: 1 });
  await other.notify('notifications/progress', { progressToken, progress: 2 });
  assert.deepEqual(await client.call('heard'), [
    { method: 'notifications/initialized', params: {} },
    { method: 'notifications/progress', params: { progressToken: 'mine', progress: 1 } },
  ]);
});

test('no progress is forwarded for a request that was answered without a task', async () => {
  await using hub = await startAsker();
  const client = await clientOf(hub, all, () => sampled);
  const params = { ...sample, task: {}, _meta: { progressToken: 'mine' } };
  await client.call('ask', { method: 'sampling/createMessage', params });
  const progressToken = client.asked[0]?.id;
  await client.notify('notifications/progress', { progressToken, progress: 1 });
  assert.doesNotMatch(JSON.stringify(await client.call('heard')), /progress/);
});

describe('notifications of a client', () => {
  test('reach a server with this client only, and no server that others use as well', async () => {
    await using hub = await startAsker();
    const ada = await clientOf(hub);
    await ada.call('pid');
    await ada.notify('notifications/roots/list_changed', {});
    const heardOf = async (client: typeof ada) => JSON.stringify(await client.call('heard'));
    assert.match(await heardOf(ada), /roots\/list_changed/);
    const alan = await clientOf(hub);
    await alan.call('pid');
    await alan.notify('notifications/roots/list_changed', {});
    assert.equal((await heardOf(alan)).match(/roots\/list_changed/g)?.length, 1);
  });
});

test("the status of a client's task reaches its server, even with other clients, and only from that client", async () => {
  await using hub = await startAsker();
  const [client, other] = [await clientOf(hub, all, () => undefined), await clientOf(hub)];
  const params = { ...sample, task: {} };
  const asking = client.call('ask', { method: 'sampling/createMessage', params });
  await until(() => client.asked.length === 1);
  const task = { taskId: 't', status: 'working', ttl: null, createdAt: '', lastUpdatedAt: '' };
  await client.post({ jsonrpc: '2.0', id: client.asked[0]?.id, result: { task } });
  assert.deepEqual(await asking, { result: { task } });
  const heard = async () => JSON.stringify(await client.call('heard'));
  await other.call('pid');
  await other.notify('notifications/tasks/status', { ...task, status: 'failed' });
  await client.notify('notifications/tasks/status', { ...task, taskId: 'unknown' });
  assert.doesNotMatch(await heard(), /tasks\/status/);
  await client.notify('notifications/tasks/status', { ...task, status: 'completed' });
  assert.match(
    await heard(),
    /"notifications\/tasks\/status","params":\{"taskId":"t","status":"completed"/,
  );
});

describe('tasks of a server that several clients share', () => {
  test.for(['one', 'all'])('are visible only to the client that made them, at %s', async kind => {
    await using hub = await startAsker();
    const endpoint = kind === 'all' ? 'all' : hub.server('asker');
    const name = kind === 'all' ? 'asker_hold' : 'hold';
    const [ada, eve] = [openAsked(hub, endpoint), openAsked(hub, endpoint)];
    for (const client of [ada, eve]) await client.initialize({});
    const { result } = await ada.ask('tools/call', { name, arguments: {}, task: { ttl: 1000 } });
    assert.deepEqual(
      isObject(result) && isObject(result['task']) && result['task']['taskId'],
      'task-1',
    );
    const told = ({ told }: typeof ada) =>
      told.filter(({ method }) => method === 'notifications/tasks/status').length;
    await until(() => told(ada) === 1);
    assert.equal(told(eve), 0);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      assert.match(messageOf(await eve.ask(method, { taskId: 'task-1' })), /no task "task-1"/);
    const got = await ada.ask('tasks/get', { taskId: 'task-1' });
    assert.match(JSON.stringify(got['result']), /"working"/);
    const listed = async (client: typeof ada) =>
      JSON.stringify((await client.ask('tasks/list'))['result']);
    assert.equal(await listed(eve), '{"tasks":[]}');
    assert.match(await listed(ada), /task-1/);
  });

  test('send requests to their own client, whichever client has calls in flight', async () => {
    await using hub = await startAsker();
    const [ada, eve] = [await clientOf(hub), await clientOf(hub)];
    const held = eve.call('hold', { key: 'e' });
    await ada.ask('tools/call', {
      name: 'ask',
      arguments: { method: 'sampling/createMessage', params: sample },
      task: { ttl: 1000 },
    });
    await until(() => ada.asked.length === 1);
    assert.equal(eve.asked.length, 0);
    await eve.call('release', { key: 'e' });
    await held;
  });
});
