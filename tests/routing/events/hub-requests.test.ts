import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type JsonObject, silent } from '#core';
import { createHubRequests } from '../../../hub/routing/events/hub-requests.ts';
import { createScriptedServer } from '../scripted-server.ts';

test('requests of a server with one id are counted, each of them', async () => {
  const { server } = createScriptedServer({ name: 'own' });
  const requests = createHubRequests('a request', silent);
  const { promise, resolve } = Promise.withResolvers<JsonObject>();
  const answered = Array.from({ length: 20 }, () => requests.answer(server, '1', () => promise));
  const more = requests.answer(server, '1', async () => ({ model: 'more' }));
  await assert.rejects(more, { code: 'HUB_INPUTS_FULL' });
  resolve({ model: 'm' });
  assert.equal((await Promise.all(answered)).length, 20);
});
