import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, type JsonObject, isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { openAsked } from '../asking.ts';

const sampled: JsonObject = {
  role: 'assistant',
  content: { type: 'text', text: 'yes' },
  model: 'm',
};
const params = { messages: [], maxTokens: 1 };
const method = 'sampling/createMessage';

/** Creates a model that answers when the test calls `release`, and counts the requests that were cancelled. */
function createModel() {
  const waiting: ((result: JsonObject) => void)[] = [];
  const state = { asked: 0, givenUp: 0 };
  return {
    state,
    release: () => waiting.splice(0).forEach(resolve => resolve(sampled)),
    sampling: {
      answer: (_params: unknown, _context: object, signal: AbortSignal) =>
        new Promise<JsonObject>((resolve, reject) => {
          state.asked++;
          waiting.push(resolve);
          signal.addEventListener('abort', () => {
            state.givenUp++;
            reject(new HubError('HUB_CALL_CANCELLED', 'given up'));
          });
        }),
    },
  };
}

async function open(more: object = {}) {
  const model = createModel();
  const hub = await startHub([{ name: 'asker', sampling: 'hub', ...more }], {
    sampling: model.sampling,
  });
  const connect = async (capabilities: object = {}) => {
    const client = openAsked(hub, hub.server('asker'), () => sampled);
    await client.initialize(capabilities);
    return client;
  };
  const asked = (count: number) =>
    until(
      () => model.state.asked === count,
      () => `${model.state.asked} requests`,
    );
  return { ...model, hub, connect, asked, [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose]() };
}

test('a request that the server cancels is aborted at the model', async () => {
  await using scene = await open();
  const client = await scene.connect();
  const told = await client.call('ask-and-withdraw', { method, params });
  assert.match(JSON.stringify(told), /given up/);
  assert.deepEqual(scene.state, { asked: 1, givenUp: 1 });
});

test('the exit of a server, and the end of the session, abort the request at the model', async () => {
  await using scene = await open();
  const [client, other] = [await scene.connect(), await scene.connect()];
  void client.call('ask', { method, params });
  await scene.asked(1);
  client.session.close('the client went');
  assert.equal(scene.state.givenUp, 1);
  void other.call('ask', { method, params }).catch(() => undefined); // The server is stopped before it answers.
  await scene.asked(2);
  await scene.hub.server('asker').stop(true);
  await until(
    () => scene.state.givenUp === 2,
    () => `${scene.state.givenUp} were given up`,
  );
});

test('a server may sample on behalf of several clients, and of none', async () => {
  await using scene = await open();
  const [one, two] = [await scene.connect(), await scene.connect({ sampling: {} })];
  const both = [one, two].map(client => client.call('ask', { method, params }));
  await scene.asked(2);
  scene.release();
  assert.deepEqual(await Promise.all(both), [{ result: sampled }, { result: sampled }]);
  assert.deepEqual([one.asked, two.asked], [[], []]);
  await one.call('ask-later', { method, params });
  await scene.asked(3);
  scene.release();
  const expected = JSON.stringify([{ result: sampled }]);
  while (JSON.stringify(await one.call('answered')) !== expected);
});

test('at most 20 requests of a server are answered concurrently', async () => {
  await using scene = await open();
  const client = await scene.connect();
  const calls = Array.from({ length: 21 }, () => client.call('ask', { method, params }));
  await scene.asked(20);
  const refused = await Promise.race(calls);
  assert.match(JSON.stringify(refused), /the hub answers 20 requests of asker already/);
  scene.release();
  const all = await Promise.all(calls);
  assert.equal(all.filter(told => isObject(told) && isObject(told['result'])).length, 20);
});

test('an instance per session gets the sampling capability, unless its client has more', async () => {
  await using scene = await open({ instance: 'session' });
  for (const [declared, told] of [
    [{ roots: {} }, { roots: {}, sampling: { tools: {} } }],
    [{ sampling: { context: {} } }, { sampling: { context: {} } }],
  ]) {
    const client = await scene.connect(declared);
    assert.deepEqual(await client.call('declared', {}), told);
  }
});

test('a task of sampling is refused by the hub as by a client without tasks', async () => {
  await using scene = await open();
  const client = await scene.connect();
  const call = client.call('ask', { method: 'tasks/list', params: {} });
  assert.match(JSON.stringify(await call), /tasks/);
  assert.equal(scene.state.asked, 0);
});
