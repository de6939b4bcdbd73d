import assert from 'node:assert/strict';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HubError, type JsonObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { createRecordingLog } from '#helpers/recording-log';
import { encodeCall } from '#jsonrpc';
import type { ModelAnswerer } from '#routing';
import { createHubModels } from '../../../hub/routing/events/hub-models.ts';
import { createServerLogs } from '../../../hub/routing/events/server-logs.ts';
import { openAsked } from '../asking.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { readRequest } from '../steps/scripted-call.ts';

const runOf = 'agenthub/models/run';
const listOf = 'agenthub/models/list';
const asked: { readonly params: unknown; readonly client: string }[] = [];

/** Answers at once, unless the prompt contains `fail` or `wait`. */
const models: ModelAnswerer = {
  async run(params, { caller, progress }, signal): Promise<JsonObject> {
    asked.push({ params, client: caller.client });
    progress?.('a piece');
    if (JSON.stringify(params).includes('fail'))
      throw new HubError('HUB_MODEL_FAILED', 'it failed', { data: { kind: 'busy' } });
    if (!JSON.stringify(params).includes('wait')) return { text: 'of the hub', model: 'm' };
    return await new Promise((_, reject) => {
      signal.addEventListener('abort', () =>
        reject(new HubError('HUB_CALL_CANCELLED', 'given up')),
      );
    });
  },
  list: async () => ({ models: [] }),
};

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub(
    [
      { name: 'own', file: 'asker.mjs', own: 'ollama-mcp', era: 'legacy' },
      // A server of the user: neither `sampling` nor the name of a shipped entry makes it one of the hub's own.
      { name: 'ollama', file: 'asker.mjs', sampling: 'hub' },
    ],
    { models },
  );
});
afterAll(() => hub?.[Symbol.asyncDispose]());

async function connect(server: string, capabilities: object = { sampling: {} }) {
  const client = openAsked(hub, hub.server(server));
  await client.initialize(capabilities);
  return client;
}

test('a sampling request of a server of the hub is answered by the hub instead of the client', async () => {
  const client = await connect('own');
  const params = { prompt: 'hello', _meta: { progressToken: 7 } };
  const told = await client.call('ask', { method: runOf, params });
  assert.match(JSON.stringify(told), /"text":"of the hub"/);
  assert.match(JSON.stringify(await client.call('ask', { method: listOf })), /"models":\[\]/);
  expect(asked).toEqual([{ params, client: 'server:own' }]);
  expect(client.asked).toEqual([]);
});

test('the queue position at a model belongs to the caller whose request the server names', async () => {
  const client = await connect('own');
  const run = (call: unknown) =>
    client.call('ask', { method: runOf, params: { prompt: 'whose', call } });
  asked.length = 0;
  // The ids of calls grow by 1 and these by 2, so exactly one of these is the id of the server's current call.
  for (let id = 1; id < 60; id += 2) await run(id);
  const clients = asked.map(one => one.client);
  assert.equal(clients.filter(name => name === 'local:test').length, 1);
  assert.ok(clients.every(name => name === 'local:test' || name === 'server:own'));
  asked.length = 0;
  await run('1');
  assert.equal(asked[0]?.client, 'server:own');
});

test("the queue position belongs to the caller on the request's connection, even beside another instance", async () => {
  const { server, running } = createScriptedServer({ name: 'own', own: 'ollama-mcp' });
  const { log } = createRecordingLog();
  const hubModels = createHubModels(models, createServerLogs({ log, clock: createManualClock() }));
  const owner = { serverRequest() {}, notification() {}, hasOpenRequest: false };
  const responseStream = { send() {} };
  const ofCall = { owner, principal: caller, responseStream, progressToken: undefined };
  const told: string[] = [];
  const connection = {
    ...running.upstream,
    callerOf: (id: number) => (id === 3 ? ofCall : undefined),
    notify: (method: string) => void told.push(method),
  };
  const params = { prompt: 'whose', call: 3, _meta: { progressToken: 7 } };
  const request = readRequest(encodeCall(1, runOf, params).toString());
  asked.length = 0;
  await hubModels.answerRequest(server, {
    request,
    connection,
    about: undefined,
    answer() {},
    tell() {},
  });
  assert.deepEqual(asked, [{ params, client: 'local:test' }]);
  assert.deepEqual(told, ['notifications/progress']);
});

test('a failure is returned with its kind', async () => {
  const client = await connect('own');
  const told = await client.call('ask', { method: runOf, params: { prompt: 'fail' } });
  assert.match(JSON.stringify(told), /it failed.*"kind":"busy"/);
});

test('a request that the server cancels is aborted', async () => {
  const client = await connect('own');
  const told = await client.call('ask-and-withdraw', { method: runOf, params: { prompt: 'wait' } });
  assert.match(JSON.stringify(told), /given up/);
});

test.each([runOf, listOf])('%s is unknown for any other server', async method => {
  const before = asked.length;
  const client = await connect('ollama');
  const told = await client.call('ask', { method, params: { prompt: 'hello' } });
  assert.match(JSON.stringify(told), /"code":-32601/);
  expect(client.asked).toEqual([]);
  assert.equal(asked.length, before);
});

test('unknown methods with that prefix are unknown for a server of the hub too', async () => {
  const client = await connect('own');
  const told = await client.call('ask', { method: 'agenthub/secrets/list' });
  assert.match(JSON.stringify(told), /"code":-32601/);
});

test('a hub without models returns an error that says so', async () => {
  await using other = await startHub([
    { name: 'own', file: 'asker.mjs', own: 'ollama-mcp', era: 'legacy' },
  ]);
  const client = openAsked(other, other.server('own'));
  await client.initialize({});
  const told = await client.call('ask', { method: listOf });
  assert.match(JSON.stringify(told), /HUB_MODEL_UNKNOWN/);
});
